/* SPDX-License-Identifier: MIT */

/*
 * Four processes with Latchkey and four with Redisson, played by stand-ins, on
 * one name at the same time: who gets how much of it, and how long either side
 * goes without. Two seconds each; LK_LONG=1 in the environment asks for eight.
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/server.h"
#include "support/standin.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    OURS = 4, /* the workers with a smaller index */
    THEIRS = 4,
    HOLD_MS = 1,
    SHORT_MS = 2000,
    LONG_MS = 8000,
    DROUGHT_MS = 2000,  /* nobody goes without for longer; scaled */
    SHARE_PERCENT = 25, /* the least of each side */
    SLOW_PERCENT = 5,   /* the same where a millisecond's work takes longer */
    SPIN_MOST_MS = 16,  /* of those who spin */
    END_MS = 10000
};

/* What a worker counts; the last two are kept by the first of each side. */
enum { COUNT_GRANTS, COUNT_FAILURES, COUNT_LAST_MS, COUNT_DROUGHT_MS };

typedef struct contest {
    server *server;
    lk_interop interop;
    standin_kind kind;
} contest;

static unsigned length_ms(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0 ? LONG_MS : SHORT_MS;
}

/* ---- the workers ---- */

/* Nobody else counts for this side meanwhile: it has the lock. */
static void drought_note(worker_shared *shared, unsigned first, uint64_t now)
{
    _Atomic uint64_t *counters = shared->counters[first];
    uint64_t last = atomic_exchange(&counters[COUNT_LAST_MS], now);

    if (last != 0 && now - last > counters[COUNT_DROUGHT_MS])
        counters[COUNT_DROUGHT_MS] = now - last;
}

/* fence: 0 where there is none. */
static void hold(worker_shared *shared, unsigned index, uint64_t fence)
{
    record *r = &shared->records[0];

    (void)record_enter(r, index, fence);
    shared->counters[index][COUNT_GRANTS]++;
    drought_note(shared, index < OURS ? 0 : OURS, wait_now_ms());
    (void)nanosleep(&(struct timespec){.tv_nsec = HOLD_MS * 1000000L}, NULL);
    (void)record_leave(r, index);
}

static void our_turn(worker_shared *shared, unsigned index, lk_lock *lock)
{
    lk_hold *held;

    if (lk_lock_acquire(lock, LK_FOREVER, NULL, &held) != LK_OK) {
        shared->counters[index][COUNT_FAILURES]++;
        return;
    }
    hold(shared, index, lk_hold_fence(held));
    if (lk_hold_release(held) != LK_OK)
        shared->counters[index][COUNT_FAILURES]++;
}

static int ours_run(worker_shared *shared, unsigned index, const contest *c)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .interop = c->interop};
    lk_client *client;
    lk_lock *lock;

    if (lk_client_open(&client, server_url(c->server), &options) != LK_OK ||
        lk_lock_new(&lock, client, "job", NULL) != LK_OK)
        return 1;
    while (!atomic_load(&shared->is_over))
        our_turn(shared, index, lock);
    lk_lock_free(lock);
    if (lk_client_shutdown(client, 5000) != LK_OK)
        return 1;
    lk_client_free(client);
    return 0;
}

static int theirs_run(worker_shared *shared, unsigned index, const contest *c)
{
    standin *s = standin_new(c->kind, server_socket(c->server), "job");

    standin_set_backoff(s, SPIN_MOST_MS);
    while (!atomic_load(&shared->is_over)) {
        (void)standin_lock(s, -1);
        hold(shared, index,
             c->kind == STANDIN_FENCED ? (uint64_t)standin_token(s) : 0);
        if (standin_unlock(s) != 1)
            shared->counters[index][COUNT_FAILURES]++;
    }
    standin_free(s);
    return 0;
}

static int run(worker_shared *shared, unsigned index, void *data)
{
    return index < OURS ? ours_run(shared, index, data)
                        : theirs_run(shared, index, data);
}

/* ---- the contest ---- */

static uint64_t grants_of(workers *w, unsigned first, unsigned count)
{
    uint64_t grants = 0;

    for (unsigned i = first; i < first + count; i++)
        grants += workers_shared(w)->counters[i][COUNT_GRANTS];
    return grants;
}

/* The last drought is the one that the end of the contest cut off. */
static uint64_t drought_of(workers *w, unsigned first, uint64_t end)
{
    _Atomic uint64_t *counters = workers_shared(w)->counters[first];
    uint64_t last = counters[COUNT_LAST_MS];

    if (last < end && end - last > counters[COUNT_DROUGHT_MS])
        return end - last;
    return counters[COUNT_DROUGHT_MS];
}

static void is_exclusive(workers *w, standin_kind kind, uint64_t theirs)
{
    const record *r = &workers_shared(w)->records[0];

    assert_int_equal(workers_count(w, COUNT_FAILURES), 0);
    assert_int_equal(r->overlaps, 0);
    assert_int_equal(r->inside, 0);
    /* Who comes without a fence is counted there; nobody else. */
    assert_int_equal(r->fence_errors, kind == STANDIN_FENCED ? 0 : theirs);
}

static void is_shared(workers *w, standin_kind kind, uint64_t end)
{
    uint64_t ours = grants_of(w, 0, OURS);
    uint64_t theirs = grants_of(w, OURS, THEIRS);
    uint64_t percent = ours * 100 / (ours + theirs + 1);
    unsigned least = wait_scale() > 1 ? SLOW_PERCENT : SHARE_PERCENT;

    print_message("ours %" PRIu64 " (%" PRIu64 " %%), theirs %" PRIu64
                  "; longest without: %" PRIu64 " and %" PRIu64 " ms\n",
                  ours, percent, theirs, drought_of(w, 0, end),
                  drought_of(w, OURS, end));
    is_exclusive(w, kind, theirs);
    assert_in_range(percent, least, 100 - least);
    assert_in_range(drought_of(w, 0, end), 0, wait_scaled_ms(DROUGHT_MS));
    assert_in_range(drought_of(w, OURS, end), 0, wait_scaled_ms(DROUGHT_MS));
}

static void contest_is_shared(contest c)
{
    unsigned ms = length_ms();
    workers *w = workers_start(OURS + THEIRS, run, &c);
    uint64_t end;

    assert_non_null(w);
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000}, NULL);
    end = wait_now_ms();
    workers_end(w);
    assert_true(workers_wait(w, END_MS));
    assert_int_equal(workers_succeeded(w), OURS + THEIRS);
    is_shared(w, c.kind, end);
    workers_free(w);
}

/* ---- the tests ---- */

static void redissons_lock_and_ours_share_a_name(void **state)
{
    contest_is_shared((contest){*state, LK_INTEROP_AUTO, STANDIN_LOCK});
}

/* And its tokens and our fences are one row of numbers, whoever begins. */
static void redissons_fenced_lock_and_ours_share_a_name(void **state)
{
    contest_is_shared((contest){*state, LK_INTEROP_REDISSON, STANDIN_FENCED});
}

static void they_share_it_where_redisson_is_said_to_be_there(void **state)
{
    contest_is_shared((contest){*state, LK_INTEROP_REDISSON, STANDIN_LOCK});
}

static void redissons_fair_lock_and_ours_share_a_name(void **state)
{
    contest_is_shared((contest){*state, LK_INTEROP_AUTO, STANDIN_FAIR});
}

static void
spinners_and_ours_share_a_name_while_the_marker_is_there(void **state)
{
    free(server_string(*state, "SET latchkey:spin:{job} 1"));
    contest_is_shared((contest){*state, LK_INTEROP_AUTO, STANDIN_SPIN});
}

static void
spinners_that_nobody_sees_share_it_where_they_are_said_to_be_there(void **state)
{
    contest_is_shared((contest){*state, LK_INTEROP_REDISSON, STANDIN_SPIN});
}

static int start_server(void **state)
{
    *state = server_start(NULL);
    return *state == NULL;
}

static int stop_server(void **state)
{
    server_stop(*state);
    return 0;
}

static int flush(void **state)
{
    server_flush(*state);
    return 0;
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, flush)
    const struct CMUnitTest tests[] = {
        TEST(redissons_lock_and_ours_share_a_name),
        TEST(redissons_fenced_lock_and_ours_share_a_name),
        TEST(they_share_it_where_redisson_is_said_to_be_there),
        TEST(redissons_fair_lock_and_ours_share_a_name),
        TEST(spinners_and_ours_share_a_name_while_the_marker_is_there),
        TEST(
            spinners_that_nobody_sees_share_it_where_they_are_said_to_be_there),
    };
#undef TEST

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
