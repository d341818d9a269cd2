/* SPDX-License-Identifier: MIT */
#include "fault/hand.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MS = 1000000 };

void hand_put(const worker *w, const history_event *event)
{
    if (!history_log_write(w->log, event)) {
        (void)fprintf(stderr, "a worker's history is full\n");
        abort();
    }
}

history_event hand_begin(hand *h, unsigned name, history_call call)
{
    history_event event = play_event(name, HISTORY_INVOKE, call);
    worker *w = h->worker;

    event.operation =
        (uint64_t)w->process << 32 | (atomic_fetch_add(&w->operations, 1) + 1);
    event.owner = h->owner;
    event.client = w->process;
    return event;
}

void hand_begun(const hand *h, history_event *event, int64_t within_ms)
{
    event->at = history_now();
    event->deadline = event->at + (uint64_t)within_ms * MS;
    hand_put(h->worker, event);
}

void hand_ended(const hand *h, history_event event, history_phase phase,
                lk_status status)
{
    event.at = 0;
    event.deadline = 0;
    event.phase = (uint8_t)phase;
    event.status = status;
    if (phase == HISTORY_UNKNOWN)
        (void)atomic_fetch_add(&h->worker->shared->unknowns, 1);
    hand_put(h->worker, &event);
}

history_phase hand_phase_of(lk_status status)
{
    if (status == LK_OK)
        return HISTORY_OK;
    return status == LK_EINDOUBT || status == LK_EPENDING ? HISTORY_UNKNOWN
                                                          : HISTORY_FAIL;
}

void hand_work(hand *h, uint64_t most_us)
{
    const struct timespec time = {
        .tv_nsec = (long)(play_draw(&h->random, most_us) * 1000)};

    (void)nanosleep(&time, NULL);
}

int64_t hand_longest(unsigned name, int64_t wait_ms)
{
    const int64_t try_ms = play_names[name].kind == HISTORY_REDLOCK
                               ? PLAY_NODE_MS
                               : PLAY_COMMAND_MS;

    return wait_ms == 0 ? try_ms : wait_ms;
}
