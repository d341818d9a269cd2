/* SPDX-License-Identifier: MIT */

/* Latches and plain semaphores; see errand.h. */

#include "play/errand.h"

#include <inttypes.h>

#include "play/actor.h"
#include "play/record.h"
#include "world/random.h"

enum {
    COUNT_MOST = 4,
    WAIT_MOST_MS = 4000,
    TIMED_COUNT = 1000000 /* more than anybody counts */
};

static void begin(sim_actor *actor, history_call call, const char *word,
                  uint64_t count, uint64_t wait_ms)
{
    uint64_t due = actor->run->schedule.now + wait_ms * SIM_MS;

    actor->errand = call;
    actor->want.count = count;
    sim_actor_says(actor, "%s %s (%" PRIu64 ")", word, actor->of->text, count);
    sim_actor_calls(actor, (int64_t)wait_ms);
    actor->operation = sim_record_ask(actor, call, count, due);
}

/* False: nobody wants to know any more. */
static bool end(sim_actor *actor, lk_status status, uint64_t count)
{
    lk_status known = status;

    if (sim_actor_called(actor, "an errand", status))
        return false;
    if (actor->errand == HISTORY_DELETE && status == LK_EUNSET)
        known = LK_OK; /* it is unset */
    sim_actor_says(actor, "is answered %s", lk_status_name(status));
    sim_record_answer(actor, actor->errand, actor->operation, known, count);
    actor->operation = 0;
    return true;
}

static void on_done(lk_status status, void *data)
{
    if (end(data, status, ((sim_actor *)data)->want.count))
        sim_actor_rests(data);
}

static void check(sim_actor *actor, lk_status status)
{
    if (status != LK_OK)
        on_done(status, actor);
}

/* ---- latch --------------------------------------------------------------------- */

static void on_left(lk_status status, uint64_t count, void *data)
{
    if (end(data, status, count))
        sim_actor_rests(data);
}

static void latch_ask(sim_actor *actor)
{
    lk_status status;

    begin(actor, HISTORY_ASK, "asks what is left of", 0, 0);
    status = lk_latch_count_async(actor->handle, on_left, actor);
    if (status != LK_OK)
        on_left(status, 0, actor);
}

static void latch_wait(sim_actor *actor)
{
    uint64_t wait_ms = sim_chance(&actor->random, 15)
                           ? 0
                           : sim_spread(&actor->random, 1, WAIT_MOST_MS);

    begin(actor, HISTORY_ACQUIRE, "waits for", 0, wait_ms);
    check(actor, lk_latch_wait_async(actor->handle, (int64_t)wait_ms, NULL,
                                     on_done, actor));
}

static void latch_count(sim_actor *actor)
{
    uint64_t count = sim_between(&actor->random, 1, 2);

    begin(actor, HISTORY_COUNT, "counts down", count, 0);
    check(actor,
          lk_latch_count_down_async(actor->handle, count, on_done, actor));
}

static void latch_arm(sim_actor *actor, bool again)
{
    uint64_t count = sim_between(&actor->random, 1, COUNT_MOST);

    if (again) {
        begin(actor, HISTORY_RESET, "arms again", count, 0);
        check(actor,
              lk_latch_reset_async(actor->handle, count, on_done, actor));
    } else {
        begin(actor, HISTORY_ARM, "arms", count, 0);
        check(actor, lk_latch_try_set_count_async(actor->handle, count, on_done,
                                                  actor));
    }
}

static void latch_delete(sim_actor *actor)
{
    begin(actor, HISTORY_DELETE, "deletes", 0, 0);
    check(actor, lk_latch_delete_async(actor->handle, on_done, actor));
}

void sim_errand_latch(sim_actor *actor)
{
    uint64_t dice = sim_below(&actor->random, 100);

    if (dice < 15)
        latch_arm(actor, false);
    else if (dice < 20)
        latch_arm(actor, true);
    else if (dice < 22)
        latch_delete(actor);
    else if (dice < 30)
        latch_ask(actor);
    else if (dice < 65)
        latch_wait(actor);
    else
        latch_count(actor);
}

/* ---- latch with a time ----------------------------------------------------------- */

static void on_timed(lk_status status, void *data)
{
    sim_actor *actor = data;

    if (sim_actor_called(actor, "an errand", status))
        return;
    sim_actor_says(actor, "is answered %s", lk_status_name(status));
    if (actor->errand == HISTORY_ACQUIRE && status == LK_OK &&
        !actor->run->left_model)
        sim_violated(actor->run, "%s is open for %s, and it was not counted",
                     actor->of->text, actor->name);
    sim_actor_rests(actor);
}

static lk_status timed_call(sim_actor *actor)
{
    if (actor->errand == HISTORY_ARM)
        return lk_latch_try_set_count_async(actor->handle, TIMED_COUNT,
                                            on_timed, actor);
    if (actor->errand == HISTORY_DELETE)
        return lk_latch_delete_async(actor->handle, on_timed, actor);
    if (actor->errand == HISTORY_COUNT)
        return lk_latch_count_down_async(actor->handle, 1, on_timed, actor);
    return lk_latch_wait_async(actor->handle, actor->want.wait_ms, NULL,
                               on_timed, actor);
}

static void timed_begin(sim_actor *actor, history_call call, const char *word,
                        uint64_t wait_ms)
{
    lk_status status;

    actor->errand = call;
    actor->want.wait_ms = (int64_t)wait_ms;
    sim_actor_says(actor, "%s %s, which has a time", word, actor->of->text);
    sim_actor_calls(actor, (int64_t)wait_ms);
    status = timed_call(actor);
    if (status != LK_OK)
        on_timed(status, actor);
}

void sim_errand_timed(sim_actor *actor)
{
    uint64_t dice = sim_below(&actor->random, 100);

    if (dice < 25)
        timed_begin(actor, HISTORY_ARM, "arms", 0);
    else if (dice < 27)
        timed_begin(actor, HISTORY_DELETE, "deletes", 0);
    else if (dice < 40)
        timed_begin(actor, HISTORY_COUNT, "counts down", 0);
    else
        timed_begin(actor, HISTORY_ACQUIRE, "waits for",
                    sim_spread(&actor->random, 1, WAIT_MOST_MS));
}

/* ---- barrier -------------------------------------------------------------------- */

/* How many are expected under a name: all say the same. */
static uint64_t expected_at(const sim_actor *actor)
{
    return 1 + (actor->run->plan->seed + actor->plan->name) % COUNT_MOST;
}

/* The member that arrives may be any of them, said by anybody, and one too many. */
static void barrier_arrive(sim_actor *actor)
{
    uint64_t expected = expected_at(actor);
    char member[16];

    actor->value = sim_between(&actor->random, 1, expected + 1);
    (void)snprintf(member, sizeof(member), "m%zu", actor->value);
    begin(actor, HISTORY_ARRIVE, "has a member arrive at", expected, 0);
    check(actor, lk_latch_arrive_async(actor->handle, expected, member, on_done,
                                       actor));
}

static void barrier_reset(sim_actor *actor)
{
    begin(actor, HISTORY_RESET, "arms again", expected_at(actor), 0);
    check(actor, lk_latch_reset_async(actor->handle, expected_at(actor),
                                      on_done, actor));
}

void sim_errand_barrier(sim_actor *actor)
{
    uint64_t dice = sim_below(&actor->random, 100);

    if (dice < 10)
        barrier_reset(actor);
    else if (dice < 12)
        latch_delete(actor);
    else if (dice < 22)
        latch_ask(actor);
    else if (dice < 55)
        latch_wait(actor);
    else
        barrier_arrive(actor);
}

/* ---- plain semaphore -------------------------------------------------------------- */

static void on_given(lk_status status, void *data)
{
    sim_actor *actor = data;

    actor->taken = 0;
    on_done(status, data);
}

static void plain_give(sim_actor *actor)
{
    lk_status status;

    begin(actor, HISTORY_GIVE, "gives back to", actor->taken, 0);
    status = lk_plain_semaphore_release_async(actor->handle, actor->taken,
                                              on_given, actor);
    if (status != LK_OK)
        on_given(status, actor);
}

static void on_taken(lk_status status, void *data)
{
    sim_actor *actor = data;

    if (!end(actor, status, actor->want.count))
        return;
    if (status == LK_OK)
        actor->taken = actor->want.count;
    sim_actor_rests(actor);
}

static void plain_take(sim_actor *actor)
{
    uint64_t wait_ms = sim_chance(&actor->random, 15)
                           ? 0
                           : sim_spread(&actor->random, 1, WAIT_MOST_MS);
    lk_status status;

    begin(actor, HISTORY_ACQUIRE, "wants some of",
          sim_between(&actor->random, 1, actor->run->plan->permits), wait_ms);
    status = lk_plain_semaphore_acquire_async(actor->handle, actor->want.count,
                                              (int64_t)wait_ms, NULL, on_taken,
                                              actor);
    if (status != LK_OK)
        on_taken(status, actor);
}

static void on_free(lk_status status, int64_t count, void *data)
{
    if (end(data, status, (uint64_t)count))
        sim_actor_rests(data);
}

static void plain_ask(sim_actor *actor)
{
    lk_status status;

    begin(actor, HISTORY_ASK, "asks what is free of", 0, 0);
    status = lk_plain_semaphore_count_async(actor->handle, on_free, actor);
    if (status != LK_OK)
        on_free(status, 0, actor);
}

/* There are as many as the history was told from the begin. */
static void on_set(lk_status status, void *data)
{
    if (!sim_actor_called(data, "a set", status))
        sim_actor_rests(data);
}

static void plain_set(sim_actor *actor)
{
    lk_status status;

    sim_actor_says(actor, "sets %s, unless it is", actor->of->text);
    sim_actor_calls(actor, 0);
    status = lk_plain_semaphore_try_set_async(actor->handle,
                                              actor->run->plan->permits, 0,
                                              on_set, actor);
    if (status != LK_OK)
        on_set(status, actor);
}

void sim_errand_plain(sim_actor *actor)
{
    uint64_t dice = sim_below(&actor->random, 100);

    if (actor->taken > 0)
        plain_give(actor);
    else if (dice < 15)
        plain_set(actor);
    else if (dice < 20)
        plain_ask(actor);
    else
        plain_take(actor);
}
