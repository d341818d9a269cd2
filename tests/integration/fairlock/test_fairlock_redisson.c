/* SPDX-License-Identifier: MIT */

/*
 * The fair lock beside Redisson, played by stand-ins: they exclude each other,
 * and neither side starves. Between the sides there is no order.
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <time.h>

#include "support/check.h"
#include "support/fairlocking.h"
#include "support/standin.h"
#include "support/wait.h"
#include "support/worker.h"

enum { SOON_MS = 5000, AT_ONCE_MS = 250 };

static int teardown(void **state)
{
    standins_free();
    return fairlocking_teardown(state);
}

#define TEST(name)                                                             \
    CHECK_TEST_OF(name, fairlocking *f, fairlocking_setup, teardown)

static standin *java(fairlocking *f, standin_kind kind)
{
    return standin_new(kind, server_socket(f->base->server), "n");
}

TEST(redissons_locks_are_excluded)
{
    static const standin_kind kinds[] = {STANDIN_LOCK, STANDIN_FENCED,
                                         STANDIN_SPIN, STANDIN_FAIR};
    lk_fairlock *lock = fair_lock_of_calm_client(f);
    lk_hold *none = NULL;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        standin *theirs = java(f, kinds[i]);
        lk_hold *hold = fair_hold(lock);

        assert_false(standin_try(theirs));
        assert_status(lk_hold_release(hold), LK_OK);
        assert_true(standin_try(theirs));
        assert_status(lk_fairlock_acquire(lock, 0, NULL, &none), LK_EBUSY);
        assert_int_equal(standin_unlock(theirs), 1);
    }
}

TEST(our_first_has_what_redisson_gives_back_at_once)
{
    standin *theirs = java(f, STANDIN_LOCK);
    lk_fairlock *lock = fair_lock_of_calm_client(f);
    taker *first;
    taker *second;
    uint64_t begin;

    assert_true(standin_try(theirs));
    first = fair_queue_up(f, lock, 1);
    second = fair_queue_up(f, lock, 2);
    begin = wait_now_ms();
    assert_int_equal(standin_unlock(theirs), 1);
    assert_status(taker_join(first), LK_OK);
    assert_in_range(fair_since_ms(begin), 0, wait_scaled_ms(AT_ONCE_MS));
    assert_false(second->done);
    assert_status(taker_release(first), LK_OK);
    assert_status(taker_release(second), LK_OK);
}

TEST(a_redisson_waiter_is_woken_though_ours_wait)
{
    standin *theirs = java(f, STANDIN_LOCK);
    lk_fairlock *lock = fair_lock_of_calm_client(f);
    lk_hold *hold = fair_hold(lock);
    taker *t = fair_queue_up(f, lock, 1);

    standin_subscribe(theirs);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(standin_hears(theirs, SOON_MS));
    assert_status(taker_release(t), LK_OK);
    assert_true(standin_lock(theirs, SOON_MS));
    assert_int_equal(standin_unlock(theirs), 1);
}

/* Its queue is its own: whoever heads it is woken, and ours stay in order. */
TEST(a_fair_redisson_waiter_is_woken_though_ours_wait)
{
    standin *theirs = java(f, STANDIN_FAIR);
    lk_fairlock *lock = fair_lock_of_calm_client(f);
    lk_hold *hold = fair_hold(lock);
    taker *first = fair_queue_up(f, lock, 1);
    taker *second = fair_queue_up(f, lock, 2);

    standin_subscribe(theirs);
    assert_int_not_equal(standin_acquire(theirs), STANDIN_HAS_IT);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(standin_hears(theirs, SOON_MS));
    assert_status(taker_release(first), LK_OK);
    assert_status(taker_release(second), LK_OK);
    assert_int_equal(first->turn, 1);
    assert_true(standin_lock(theirs, SOON_MS));
    assert_int_equal(standin_unlock(theirs), 1);
}

/* ---- who gets how much ---- */

enum {
    OURS = 3, /* the workers with a smaller index */
    THEIRS = 3,
    CONTEST_MS = 1500,
    SHARE_PERCENT = 25, /* the least of each side */
    SLOW_PERCENT = 5,   /* the same where a millisecond's work takes longer */
    END_MS = 10000
};

enum { COUNT_GRANTS, COUNT_FAILURES };

typedef struct contest {
    server *server;
    standin_kind kind;
} contest;

static void hold_for_a_while(worker_shared *shared, unsigned index)
{
    record *r = &shared->records[0];

    (void)record_enter(r, index, 0);
    shared->counters[index][COUNT_GRANTS]++;
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000L}, NULL);
    (void)record_leave(r, index);
}

static int ours_run(worker_shared *shared, unsigned index, const contest *c)
{
    lk_client *client;
    lk_fairlock *lock;
    lk_hold *hold;
    int failures = 0;

    if (lk_client_open(&client, server_url(c->server), NULL) != LK_OK ||
        lk_fairlock_new(&lock, client, "n", NULL) != LK_OK)
        return 1;
    while (!atomic_load(&shared->is_over) && failures == 0) {
        if (lk_fairlock_acquire(lock, LK_FOREVER, NULL, &hold) != LK_OK)
            return 1;
        hold_for_a_while(shared, index);
        failures += lk_hold_release(hold) != LK_OK;
    }
    lk_fairlock_free(lock);
    failures += lk_client_shutdown(client, 5000) != LK_OK;
    lk_client_free(client);
    return failures;
}

static int contest_run(worker_shared *shared, unsigned index, void *data)
{
    const contest *c = data;
    int failures = 0;
    standin *s;

    if (index < OURS)
        return ours_run(shared, index, c);
    s = standin_new(c->kind, server_socket(c->server), "n");
    while (!atomic_load(&shared->is_over)) {
        (void)standin_lock(s, -1);
        hold_for_a_while(shared, index);
        failures += standin_unlock(s) != 1;
    }
    standin_free(s);
    return failures;
}

/* Whoever begins late has no share before. */
static bool all_have_begun(void *data)
{
    workers *w = data;

    for (unsigned i = 0; i < OURS + THEIRS; i++) {
        if (workers_shared(w)->counters[i][COUNT_GRANTS] == 0)
            return false;
    }
    return true;
}

static uint64_t ours_of(workers *w)
{
    uint64_t ours = 0;

    for (unsigned i = 0; i < OURS; i++)
        ours += workers_shared(w)->counters[i][COUNT_GRANTS];
    return ours;
}

static void contest_is_shared(contest c)
{
    workers *w = workers_start(OURS + THEIRS, contest_run, &c);
    unsigned least = wait_scale() > 1 ? SLOW_PERCENT : SHARE_PERCENT;
    uint64_t ours, all;

    assert_non_null(w);
    assert_true(wait_until(all_have_begun, w, END_MS));
    ours = ours_of(w);
    all = workers_count(w, COUNT_GRANTS);
    locking_pass_time(CONTEST_MS);
    workers_end(w);
    assert_true(workers_wait(w, END_MS));
    assert_int_equal(workers_succeeded(w), OURS + THEIRS);
    ours = ours_of(w) - ours;
    all = workers_count(w, COUNT_GRANTS) - all;
    print_message("ours %" PRIu64 " of %" PRIu64 "\n", ours, all);
    assert_in_range(ours * 100 / (all + 1), least, 100 - least);
    assert_int_equal(workers_shared(w)->records[0].overlaps, 0);
    assert_int_equal(workers_shared(w)->records[0].inside, 0);
    workers_free(w);
}

TEST(redissons_lock_and_our_fair_lock_share_a_name)
{
    contest_is_shared((contest){f->base->server, STANDIN_LOCK});
}

TEST(redissons_fair_lock_and_ours_share_a_name)
{
    contest_is_shared((contest){f->base->server, STANDIN_FAIR});
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
