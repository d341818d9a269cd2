/* SPDX-License-Identifier: MIT */

/*
 * Everything but locks on a Redis Cluster, each at every master: that it does what
 * it does on one server, or says at once that it does not.
 */

#include <latchkey/latchkey.h>

#include <stdatomic.h>

#include "support/check.h"
#include "support/ringed.h"

/* Two clients, and a name at one of the masters. */
typedef struct pair {
    lk_client *a, *b;
    server *at;
    char name[RINGED_NAME];
} pair;

typedef struct trial {
    void (*run)(const pair *p);
} trial;

static void at_each(void **state)
{
    const trial *t = *state;
    pair p = {.a = ringed_open(NULL), .b = ringed_open(NULL)};

    for (size_t i = 0; i < RINGED_MASTERS; i++) {
        p.at = ringed()->nodes[i];
        t->run(&p);
    }
    (void)made_end(state);
}

#define AT_EACH(name, run) CHECK_CASE(name, at_each, (&(trial){run}))

static void be_named(pair *p, const char *begin)
{
    (void)ringed_name(p->name, begin, p->at);
}

/* ---- read-write locks ------------------------------------------------------------ */

static void read_and_write(const pair *given)
{
    pair p = *given;
    lk_rwlock *here = NULL, *there = NULL;
    lk_hold *reading = NULL, *beside = NULL;
    call writing = {0};

    be_named(&p, "rw");
    assert_status(lk_rwlock_new(&here, p.a, p.name, NULL), LK_OK);
    assert_status(lk_rwlock_new(&there, p.b, p.name, NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(here, RINGED_LONG_MS, NULL, &reading),
                  LK_OK);
    assert_status(lk_rwlock_acquire_read(there, RINGED_LONG_MS, NULL, &beside),
                  LK_OK);
    assert_status(lk_hold_release(beside), LK_OK);
    assert_status(lk_rwlock_acquire_write_async(there, LK_FOREVER, NULL,
                                                call_on_acquire, &writing),
                  LK_OK);
    ringed_wait_line(p.at, p.name, 1);
    assert_int_equal(writing.ends, 0);
    assert_status(lk_hold_release(reading), LK_OK);
    assert_status(call_wait(&writing, p.b), LK_OK);
    assert_status(lk_rwlock_acquire_read(here, 0, NULL, &reading), LK_EBUSY);
    assert_status(lk_hold_release(writing.hold), LK_OK);
    lk_rwlock_free(here);
    lk_rwlock_free(there);
}

/* ---- fair locks ------------------------------------------------------------------- */

static void be_fair(const pair *given)
{
    pair p = *given;
    lk_fairlock *here = NULL, *there = NULL;
    lk_hold *hold = NULL;
    call first = {0}, second = {0};

    be_named(&p, "fair");
    assert_status(lk_fairlock_new(&here, p.a, p.name, NULL), LK_OK);
    assert_status(lk_fairlock_new(&there, p.b, p.name, NULL), LK_OK);
    assert_status(lk_fairlock_acquire(here, RINGED_LONG_MS, NULL, &hold),
                  LK_OK);
    assert_status(lk_fairlock_acquire_async(there, LK_FOREVER, NULL,
                                            call_on_acquire, &first),
                  LK_OK);
    ringed_wait_line(p.at, p.name, 1);
    assert_status(lk_fairlock_acquire_async(here, LK_FOREVER, NULL,
                                            call_on_acquire, &second),
                  LK_OK);
    ringed_wait_line(p.at, p.name, 2);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&first, p.b), LK_OK);
    assert_int_equal(second.ends, 0);
    assert_status(lk_hold_release(first.hold), LK_OK);
    assert_status(call_wait(&second, p.a), LK_OK);
    assert_status(lk_hold_release(second.hold), LK_OK);
    lk_fairlock_free(here);
    lk_fairlock_free(there);
}

/* ---- semaphores --------------------------------------------------------------------- */

static void take_permits(const pair *given)
{
    const lk_semaphore_options two = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 2};
    pair p = *given;
    lk_semaphore *here = NULL, *there = NULL;
    lk_hold *hold = NULL, *other = NULL;
    call third = {0};

    be_named(&p, "permits");
    assert_status(lk_semaphore_new(&here, p.a, p.name, &two), LK_OK);
    assert_status(lk_semaphore_new(&there, p.b, p.name, &two), LK_OK);
    assert_status(lk_semaphore_acquire(here, 1, RINGED_LONG_MS, NULL, &hold),
                  LK_OK);
    assert_status(lk_semaphore_acquire(there, 1, RINGED_LONG_MS, NULL, &other),
                  LK_OK);
    assert_status(lk_semaphore_acquire_async(there, 1, LK_FOREVER, NULL,
                                             call_on_acquire, &third),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&third, p.b), LK_OK);
    assert_status(lk_hold_release(other), LK_OK);
    assert_status(lk_hold_release(third.hold), LK_OK);
    lk_semaphore_free(here);
    lk_semaphore_free(there);
}

static void take_plainly(const pair *given)
{
    pair p = *given;
    lk_plain_semaphore *here = NULL, *there = NULL;
    call second = {0};

    be_named(&p, "plain");
    assert_status(lk_plain_semaphore_new(&here, p.a, p.name), LK_OK);
    assert_status(lk_plain_semaphore_new(&there, p.b, p.name), LK_OK);
    assert_status(lk_plain_semaphore_try_set(here, 1, 0), LK_OK);
    assert_status(lk_plain_semaphore_acquire(here, 1, RINGED_LONG_MS, NULL),
                  LK_OK);
    assert_status(lk_plain_semaphore_acquire_async(there, 1, LK_FOREVER, NULL,
                                                   call_on_done, &second),
                  LK_OK);
    assert_status(lk_plain_semaphore_release(here, 1), LK_OK);
    assert_status(call_wait(&second, p.b), LK_OK);
    assert_status(lk_plain_semaphore_delete(here), LK_OK);
    lk_plain_semaphore_free(here);
    lk_plain_semaphore_free(there);
}

/* ---- latches and cells ---------------------------------------------------------------- */

static void open_latch(const pair *given)
{
    pair p = *given;
    lk_latch *here = NULL, *there = NULL;
    call opened = {0};

    be_named(&p, "latch");
    assert_status(lk_latch_new(&here, p.a, p.name, NULL), LK_OK);
    assert_status(lk_latch_new(&there, p.b, p.name, NULL), LK_OK);
    assert_status(lk_latch_try_set_count(here, 2), LK_OK);
    assert_status(lk_latch_wait_async(there, LK_FOREVER, NULL, call_on_done,
                                      &opened),
                  LK_OK);
    assert_status(lk_latch_count_down(here, 1), LK_OK);
    assert_int_equal(opened.ends, 0);
    assert_status(lk_latch_count_down(there, 1), LK_OK);
    assert_status(call_wait(&opened, p.b), LK_OK);
    lk_latch_free(here);
    lk_latch_free(there);
}

static void write_cell(const pair *given)
{
    pair p = *given;
    lk_lock *lock;
    lk_cell *cell = NULL, *aside = NULL;
    lk_cell_value *value = NULL;
    lk_hold *hold;
    uint64_t version = 0;
    char other[RINGED_NAME];

    be_named(&p, "cell");
    lock = made_lock(p.a, p.name);
    assert_status(lk_cell_new(&cell, p.a, p.name, NULL), LK_OK);
    hold = made_hold(lock);
    assert_status(lk_cell_write_guarded(cell, hold, LK_CELL_ANY, "v", 1,
                                        &version),
                  LK_OK);
    assert_status(lk_cell_read(cell, &value), LK_OK);
    assert_memory_equal(value->bytes, "v", 1);
    assert_true(value->version == version);
    lk_cell_value_free(value);

    /* Of a lock at another master only the fence guards it. */
    (void)ringed_name(other, "aside", ringed_other(p.name));
    assert_status(lk_cell_new(&aside, p.a, other, NULL), LK_OK);
    assert_status(lk_cell_write_guarded(aside, hold, LK_CELL_ANY, "w", 1,
                                        &version),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_cell_free(cell);
    lk_cell_free(aside);
}

/* ---- what is made of several names -------------------------------------------------------- */

static void a_multilock_over_all_masters(NO_STATE)
{
    lk_client *a = ringed_open(NULL), *b = ringed_open(NULL);
    lk_multilock *all = NULL;
    lk_lock *locks[RINGED_MASTERS], *other;
    lk_hold *hold = NULL, *busy = NULL;
    char name[RINGED_NAME];

    assert_status(lk_multilock_new(&all), LK_OK);
    for (size_t i = 0; i < RINGED_MASTERS; i++) {
        locks[i] = made_lock(a, ringed_name(name, "multi", ringed()->nodes[i]));
        assert_status(lk_multilock_add_lock(all, locks[i]), LK_OK);
    }
    other = made_lock(b, name);
    assert_status(lk_multilock_acquire(all, RINGED_LONG_MS, NULL, &hold),
                  LK_OK);
    assert_status(lk_lock_acquire(other, 0, NULL, &busy), LK_EBUSY);
    assert_status(lk_hold_release(hold), LK_OK);
    busy = made_hold(other);
    assert_status(lk_multilock_acquire(all, 0, NULL, &hold), LK_EBUSY);
    assert_status(lk_hold_release(busy), LK_OK);
    lk_multilock_free(all);
}

static void stripes_at_all_masters(NO_STATE)
{
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f"};
    lk_client *client = ringed_open(NULL);
    lk_stripes *stripes = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_stripes_new(&stripes, client, "striped", NULL), LK_OK);
    assert_status(lk_stripes_acquire_many(stripes, keys, 6, RINGED_LONG_MS,
                                          NULL, &hold),
                  LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_stripes_free(stripes);
}

static lk_status compute(lk_flight_ticket *ticket, void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
    return lk_flight_ticket_set(ticket, "value", 5);
}

static void a_flight_lands_for_all(NO_STATE)
{
    lk_client *a = ringed_open(NULL), *b = ringed_open(NULL);
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f"};
    lk_flight *here = NULL, *there = NULL;
    atomic_int runs = 0;

    assert_status(lk_flight_new(&here, a, "flight", NULL), LK_OK);
    assert_status(lk_flight_new(&there, b, "flight", NULL), LK_OK);
    for (size_t i = 0; i < 6; i++) {
        const char *text = keys[i];
        lk_flight_value *value = NULL;

        assert_status(lk_flight_do(here, text, RINGED_LONG_MS, NULL, compute,
                                   &runs, &value),
                      LK_OK);
        lk_flight_value_free(value);
        assert_status(lk_flight_do(there, text, RINGED_LONG_MS, NULL, compute,
                                   &runs, &value),
                      LK_OK);
        assert_memory_equal(value->bytes, "value", 5);
        lk_flight_value_free(value);
    }
    assert_int_equal(runs, 6);
    lk_flight_free(here);
    lk_flight_free(there);
}

static void lead(const pair *given)
{
    pair p = *given;
    lk_leader *here = NULL, *there = NULL;
    lk_hold *hold = NULL;
    lk_info *info = NULL;

    be_named(&p, "leader");
    assert_status(lk_leader_new(&here, p.a, p.name, NULL), LK_OK);
    assert_status(lk_leader_new(&there, p.b, p.name, NULL), LK_OK);
    assert_status(lk_leader_campaign(here, RINGED_LONG_MS, NULL, &hold), LK_OK);
    assert_status(lk_leader_get(there, &info), LK_OK);
    assert_true(lk_leader_term(info) == lk_hold_fence(hold));
    lk_info_free(info);
    assert_status(lk_leader_resign(here, hold), LK_OK);
    lk_leader_free(here);
    lk_leader_free(there);
}

/* ---- what says that it does not ------------------------------------------------------------- */

static void a_redlock_takes_no_cluster(NO_STATE)
{
    lk_client *client = ringed_open(NULL);
    lk_redlock *redlock = NULL;

    assert_status(lk_redlock_new(&redlock, &client, 1, "n", NULL), LK_ENOTSUP);
}

static void who_holds_is_told_without_records(NO_STATE)
{
    lk_client *client = ringed_open(NULL);
    lk_lock *lock = made_lock(client, "informed");
    lk_hold *hold = made_hold(lock);
    lk_info *info = NULL;

    assert_status(lk_lock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

int test_cluster_kinds(void)
{
    const struct CMUnitTest tests[] = {
        AT_EACH(read_write_locks, read_and_write),
        AT_EACH(fair_locks, be_fair),
        AT_EACH(semaphores, take_permits),
        AT_EACH(plain_semaphores, take_plainly),
        AT_EACH(latches, open_latch),
        AT_EACH(cells, write_cell),
        cmocka_unit_test_teardown(a_multilock_over_all_masters, made_end),
        cmocka_unit_test_teardown(stripes_at_all_masters, made_end),
        cmocka_unit_test_teardown(a_flight_lands_for_all, made_end),
        AT_EACH(leaders, lead),
        cmocka_unit_test_teardown(a_redlock_takes_no_cluster, made_end),
        cmocka_unit_test_teardown(who_holds_is_told_without_records, made_end),
    };

    return cmocka_run_group_tests(tests, ringed_start, ringed_stop);
}
