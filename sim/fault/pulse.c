/* SPDX-License-Identifier: MIT */

/* What the machine does to a process: how late a thread of it runs. */

#include <pthread.h>
#include <time.h>

#include "check/check.h"
#include "fault/play.h"

enum { BEAT_NS = 5000000, STALL_NS = 20000000 };

typedef struct pulse {
    history_log *log;
    play_shared *shared;
    uint32_t process;
    pthread_t thread;
    _Atomic bool beats;
} pulse;

static pulse the_pulse; /* one for a process */

static void note(const pulse *p, uint64_t from, uint64_t to)
{
    history_event event = {.at = from,
                           .process = p->process,
                           .phase = HISTORY_INVOKE,
                           .call = HISTORY_FAULT,
                           .count = CHECKER_DEADLINES,
                           .name = "the machine is late"};

    (void)history_log_write(p->log, &event);
    event.phase = HISTORY_OK;
    event.at = to;
    (void)history_log_write(p->log, &event);
}

static void measure(const pulse *p, uint64_t stall)
{
    uint64_t worst = atomic_load(&p->shared->worst_stall_ns);

    while (stall > worst &&
           !atomic_compare_exchange_weak(&p->shared->worst_stall_ns, &worst,
                                         stall))
        ;
}

static void *beat(void *data)
{
    static const struct timespec tick = {.tv_nsec = BEAT_NS};
    const pulse *p = data;
    uint64_t last = history_now();
    uint64_t stops = atomic_load(&p->shared->stops);

    while (atomic_load(&p->beats)) {
        uint64_t now, stops_now;

        (void)nanosleep(&tick, NULL);
        now = history_now();
        stops_now = atomic_load(&p->shared->stops);
        if (now - last > BEAT_NS + STALL_NS)
            note(p, last + BEAT_NS, now);
        if (stops_now == stops)
            measure(p, now - last - BEAT_NS);
        last = now;
        stops = stops_now;
    }
    return NULL;
}

bool play_pulse_start(history_log *log, play_shared *shared, uint32_t process)
{
    pulse *p = &the_pulse;

    p->log = log;
    p->shared = shared;
    p->process = process;
    atomic_store(&p->beats, true);
    if (pthread_create(&p->thread, NULL, beat, p) == 0)
        return true;
    atomic_store(&p->beats, false);
    return false;
}

void play_pulse_stop(void)
{
    if (atomic_exchange(&the_pulse.beats, false))
        (void)pthread_join(the_pulse.thread, NULL);
}
