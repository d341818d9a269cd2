/* SPDX-License-Identifier: MIT */

/* A binary heap of events, ordered by time and by the order of setting. */

#include "world/schedule.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- the end of everything ----------------------------------------------- */

static char playing[128];

void sim_playing(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(playing, sizeof(playing), format, args);
    va_end(args);
}

void sim_wrong(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "sim: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    if (playing[0] != '\0')
        fprintf(stderr, "again: %s\n", playing);
    abort();
}

/* ---- the heap ------------------------------------------------------------ */

static bool is_before(const sim_event *one, const sim_event *other)
{
    return one->at < other->at ||
           (one->at == other->at && one->order < other->order);
}

static void put(sim_schedule *schedule, sim_event *event, size_t slot)
{
    schedule->heap[slot] = event;
    event->slot = slot;
}

static void rise(sim_schedule *schedule, sim_event *event, size_t slot)
{
    while (slot > 1 && is_before(event, schedule->heap[slot / 2])) {
        put(schedule, schedule->heap[slot / 2], slot);
        slot /= 2;
    }
    put(schedule, event, slot);
}

static void sink(sim_schedule *schedule, sim_event *event, size_t slot)
{
    size_t child;

    while ((child = 2 * slot) <= schedule->count) {
        if (child < schedule->count &&
            is_before(schedule->heap[child + 1], schedule->heap[child]))
            child++;
        if (!is_before(schedule->heap[child], event))
            break;
        put(schedule, schedule->heap[child], slot);
        slot = child;
    }
    put(schedule, event, slot);
}

static void grow(sim_schedule *schedule)
{
    schedule->room = schedule->room == 0 ? 256 : 2 * schedule->room;
    schedule->heap =
        realloc(schedule->heap, (schedule->room + 1) * sizeof(void *));
    if (schedule->heap == NULL)
        sim_wrong("out of memory");
}

void sim_event_clear(sim_schedule *schedule, sim_event *event)
{
    size_t slot = event->slot;
    sim_event *last;

    if (slot == 0)
        return;
    event->slot = 0;
    last = schedule->heap[schedule->count--];
    if (last == event)
        return;
    if (slot > 1 && is_before(last, schedule->heap[slot / 2]))
        rise(schedule, last, slot);
    else
        sink(schedule, last, slot);
}

void sim_event_set(sim_schedule *schedule, sim_event *event, uint64_t at)
{
    sim_event_clear(schedule, event);
    if (at == SIM_NEVER)
        return;
    event->at = at > schedule->now ? at : schedule->now;
    event->order = ++schedule->order;
    if (schedule->count == schedule->room)
        grow(schedule);
    rise(schedule, event, ++schedule->count);
}

/* ---- time ---------------------------------------------------------------- */

void sim_schedule_init(sim_schedule *schedule, FILE *story)
{
    memset(schedule, 0, sizeof(*schedule));
    schedule->trace = UINT64_C(0xcbf29ce484222325);
    schedule->story = story;
}

void sim_schedule_done(sim_schedule *schedule)
{
    free(schedule->heap);
}

bool sim_step(sim_schedule *schedule, uint64_t until)
{
    sim_event *event;

    if (schedule->count == 0 || schedule->heap[1]->at > until)
        return false;
    event = schedule->heap[1];
    sim_event_clear(schedule, event);
    if (schedule->now < event->at) /* else it is late */
        schedule->now = event->at;
    schedule->steps++;
    event->happen(event);
    return true;
}

void sim_run_until(sim_schedule *schedule, uint64_t until)
{
    while (sim_step(schedule, until))
        continue;
    if (schedule->now < until)
        schedule->now = until;
}

/* ---- the record ---------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

void sim_trace(sim_schedule *schedule, uint64_t one, uint64_t other)
{
    schedule->trace = mix(mix(mix(schedule->trace, schedule->now), one), other);
}

void sim_trace_bytes(sim_schedule *schedule, const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t hash = mix(schedule->trace, size), word;

    for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, at, size);
    schedule->trace = mix(hash, word);
}

void sim_tell(const sim_schedule *schedule, const char *subject,
              const char *format, ...)
{
    va_list args;

    if (schedule->story == NULL)
        return;
    fprintf(schedule->story, "%12.6f  %-8s ", (double)schedule->now / 1e9,
            subject);
    va_start(args, format);
    vfprintf(schedule->story, format, args);
    va_end(args);
    fprintf(schedule->story, "\n");
}
