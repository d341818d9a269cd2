/* SPDX-License-Identifier: MIT */

/* What has a name for each epoch: a counter of permits, and a flight. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fault/hand.h"

enum { RUN_US = 30000, LANDS_MS = 3000 };

/* A call of that name in this epoch. */
static history_event
begin_of(hand *h, unsigned name, uint64_t epoch, history_call call)
{
    history_event event = hand_begin(h, name, call);

    play_epoch_text(name, epoch, event.name);
    event.key = history_key(event.name, 0);
    return event;
}

/* ---- a counter of permits ---- */

/* False: it cannot be set now. */
static bool plain_turn(hand *h, unsigned name)
{
    const uint64_t epoch = atomic_load(&h->worker->shared->epoch);
    char text[PLAY_TEXT];
    lk_status status;

    if (h->plain != NULL && h->epoch == epoch)
        return true;
    lk_plain_semaphore_free(h->plain);
    h->plain = NULL;
    h->epoch = epoch;
    play_epoch_text(name, epoch, text);
    if (lk_plain_semaphore_new(&h->plain, h->worker->client, text) != LK_OK)
        return false;
    status = lk_plain_semaphore_try_set(h->plain, PLAY_PERMITS, 0);
    if (status == LK_OK || status == LK_EALREADY)
        return true;
    lk_plain_semaphore_free(h->plain);
    h->plain = NULL;
    return false;
}

static void give(hand *h, unsigned name, uint64_t count)
{
    history_event event = begin_of(h, name, h->epoch, HISTORY_GIVE);
    lk_status status;

    event.count = count;
    hand_begun(h, &event, PLAY_COMMAND_MS);
    status = lk_plain_semaphore_release(h->plain, count);
    hand_ended(h, event, hand_phase_of(status), status);
}

void plain_round(hand *h, unsigned name, int64_t wait_ms)
{
    history_event event;
    lk_status status;

    if (!plain_turn(h, name))
        return;
    event = begin_of(h, name, h->epoch, HISTORY_ACQUIRE);
    event.mode = HISTORY_PERMITS;
    event.count = 1 + play_draw(&h->random, 2);
    hand_begun(h, &event, hand_longest(name, wait_ms));
    status = lk_plain_semaphore_acquire(h->plain, event.count, wait_ms, NULL);
    hand_ended(h, event, hand_phase_of(status), status);
    if (status != LK_OK)
        return;
    (void)atomic_fetch_add(&h->worker->shared->grants[name], 1);
    (void)atomic_fetch_add(&h->worker->shared->asked, 1);
    hand_work(h, RUN_US);
    give(h, name, event.count);
}

/* ---- a flight ---- */

typedef struct flown {
    hand *hand;
    unsigned name;
    uint64_t epoch;
} flown;

static history_event run_begin(const flown *f)
{
    hand *h = f->hand;
    history_event event = begin_of(h, f->name, f->epoch, HISTORY_ACQUIRE);

    event.flags = HISTORY_RENEWED;
    hand_begun(h, &event, PLAY_COMMAND_MS);
    event.hold = event.operation;
    event.fence = atomic_fetch_add(&h->worker->shared->runs, 1) + 1;
    hand_ended(h, event, HISTORY_OK, LK_OK);
    return event;
}

static void run_end(const flown *f, const history_event *run)
{
    hand *h = f->hand;
    history_event event = begin_of(h, f->name, f->epoch, HISTORY_CHECKED);

    event.phase = HISTORY_EVENT;
    event.hold = run->hold;
    hand_put(h->worker, &event);
    event = begin_of(h, f->name, f->epoch, HISTORY_RELEASE);
    event.hold = run->hold;
    hand_begun(h, &event, PLAY_COMMAND_MS);
    hand_ended(h, event, HISTORY_OK, LK_OK);
}

/* The value is the run's number. */
static lk_status run(lk_flight_ticket *ticket, void *data)
{
    const flown *f = data;
    history_event event = run_begin(f);
    char text[24];
    int size = snprintf(text, sizeof(text), "%" PRIu64, event.fence);
    lk_status status = lk_flight_ticket_set(ticket, text, (size_t)size);

    hand_work(f->hand, RUN_US);
    run_end(f, &event);
    (void)atomic_fetch_add(&f->hand->worker->shared->grants[f->name], 1);
    return status;
}

void flight_round(hand *h, unsigned name, int64_t wait_ms)
{
    flown f = {h, name, atomic_load(&h->worker->shared->epoch)};
    history_event event = begin_of(h, name, f.epoch, HISTORY_ASK);
    lk_flight_value *value = NULL;
    char key[24];
    lk_status status;

    (void)snprintf(key, sizeof(key), "%" PRIu64, f.epoch);
    hand_begun(h, &event, hand_longest(name, wait_ms) + LANDS_MS);
    status = lk_flight_do(h->worker->handles[name], key, wait_ms, NULL, run, &f,
                          &value);
    if (status == LK_OK)
        event.fence = strtoull(value->bytes, NULL, 10);
    hand_ended(h, event, hand_phase_of(status), status);
    lk_flight_value_free(value);
}
