/* SPDX-License-Identifier: MIT */

/*
 * How far a master of a cluster is believed: while most masters name it; and one
 * that took the place of another not before nobody believes that one.
 */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/ringed.h"
#include "support/wait.h"

enum { BELIEF_MS = 3000 };

static const lk_client_options fast = {LK_CLIENT_OPTIONS_INIT,
                                       .failover = LK_FAILOVER_FAST};

static bool is_lost(void *hold)
{
    return lk_hold_check(hold) == LK_ELOST;
}

static void a_master_is_believed_while_most_name_it(void **state)
{
    lk_client *client = ringed_open(NULL), *other = ringed_open(&fast);
    char name[RINGED_NAME], name_fast[RINGED_NAME];
    lk_lock *lock =
        ringed_lock(client, ringed_name(name, "safe", ringed()->nodes[0]));
    lk_lock *lock_fast =
        ringed_lock(other, ringed_name(name_fast, "fast", ringed()->nodes[0]));
    lk_hold *hold = ringed_hold(lock), *hold_fast = ringed_hold(lock_fast);
    lk_hold *none = NULL;
    uint64_t began;

    (void)state;
    for (size_t i = 1; i < ringed()->count; i++)
        server_freeze(ringed()->nodes[i]);
    began = wait_now_ms();
    assert_true(wait_until(is_lost, hold, 2 * BELIEF_MS));
    assert_true(wait_now_ms() - began <= wait_allowed_ms(BELIEF_MS + 100));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_hold_check(hold_fast), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_lock_acquire(lock, 100, NULL, &none), LK_ETIMEDOUT);
    for (size_t i = 1; i < ringed()->count; i++)
        server_thaw(ringed()->nodes[i]);
    cluster_wait_whole(ringed());
    hold = ringed_hold(lock);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_hold_release(hold_fast);
    lk_lock_free(lock);
    lk_lock_free(lock_fast);
    lk_client_free(client);
    lk_client_free(other);
}

/* Since then it is a master, or a moment later. */
static uint64_t take_over(server **ret_next)
{
    uint64_t began;

    server_freeze(ringed()->nodes[0]);
    began = wait_now_ms();
    *ret_next = cluster_takeover(ringed(), ringed()->nodes[0]);
    return began;
}

static void nothing_is_taken_from_a_new_master_at_once(void **state)
{
    lk_client *safe = ringed_open(NULL), *quick = ringed_open(&fast);
    lk_client *late;
    char one[RINGED_NAME], two[RINGED_NAME], three[RINGED_NAME];
    lk_lock *held =
        ringed_lock(safe, ringed_name(one, "one", ringed()->nodes[0]));
    lk_lock *quickly =
        ringed_lock(quick, ringed_name(two, "two", ringed()->nodes[0]));
    lk_lock *lately;
    lk_hold *hold;
    server *next;
    uint64_t began;

    (void)state;
    (void)ringed_name(three, "three", ringed()->nodes[0]);
    hold = ringed_hold(held);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = ringed_hold(quickly);
    assert_status(lk_hold_release(hold), LK_OK);
    began = take_over(&next);
    hold = ringed_hold(quickly);
    assert_true(wait_now_ms() - began < wait_allowed_ms(BELIEF_MS));
    assert_status(lk_hold_release(hold), LK_OK);

    /* Whoever comes now does not know how long it has been one. */
    late = ringed_open(NULL);
    lately = ringed_lock(late, three);
    hold = ringed_hold(lately);
    assert_true(wait_now_ms() - began >= BELIEF_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = ringed_hold(held);
    assert_true(wait_now_ms() - began >= BELIEF_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    server_thaw(ringed()->nodes[0]);
    cluster_wait_whole(ringed());
    lk_lock_free(held);
    lk_lock_free(quickly);
    lk_lock_free(lately);
    lk_client_free(safe);
    lk_client_free(quick);
    lk_client_free(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_master_is_believed_while_most_name_it),
        cmocka_unit_test(nothing_is_taken_from_a_new_master_at_once),
    };

    return cmocka_run_group_tests(tests, ringed_start, ringed_stop);
}
