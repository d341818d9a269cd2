/* SPDX-License-Identifier: MIT */

/*
 * Redisson's fair lock beside ours: it shares the hash and has a queue of its
 * own, whose head listens on a channel of its own. Played by a stand-in.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/standin.h"
#include "support/wait.h"

enum { SOON_MS = 5000, AT_ONCE_MS = 250 };

static int teardown(void **state)
{
    standins_free();
    return locking_teardown(state);
}

static lk_lock *ours(locking *f)
{
    return locking_lock(f, locking_open(f, NULL), "n");
}

/* One that waits in its queue and listens; the name is held. */
static standin *queued(locking *f)
{
    standin *java = standin_new(STANDIN_FAIR, server_socket(f->server), "n");

    standin_subscribe(java);
    assert_int_not_equal(standin_acquire(java), STANDIN_HAS_IT);
    return java;
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, locking_setup, teardown)

TEST(our_release_wakes_the_head_of_its_queue_alone)
{
    lk_hold *hold = locking_hold(ours(f));
    standin *head = queued(f);
    standin *next = queued(f);

    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(standin_hears(head, SOON_MS));
    assert_false(standin_hears(next, 50));
    assert_int_equal(standin_acquire(head), STANDIN_HAS_IT);
    assert_int_equal(standin_unlock(head), 1);
    assert_true(standin_hears(next, SOON_MS));
    assert_int_equal(standin_acquire(next), STANDIN_HAS_IT);
    assert_int_equal(standin_unlock(next), 1);
}

/* Nobody listens on Redisson's common channel; the queue says enough. */
TEST(its_head_is_woken_though_ours_wait)
{
    lk_hold *hold = locking_hold(ours(f));
    taker *t = locking_take(f, ours(f), LK_FOREVER, NULL);
    standin *head = queued(f);

    locking_wait_queued(f, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(standin_hears(head, SOON_MS));
    assert_status(taker_release(t), LK_OK);
    assert_true(standin_lock(head, SOON_MS));
    assert_int_equal(standin_unlock(head), 1);
}

TEST(its_release_serves_our_waiter_at_once)
{
    standin *java = standin_new(STANDIN_FAIR, server_socket(f->server), "n");
    taker *t;
    uint64_t since;

    assert_true(standin_try(java));
    t = locking_take(f, ours(f), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    since = wait_now_ms();
    assert_int_equal(standin_unlock(java), 1);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_status(taker_release(t), LK_OK);
}

/* We tell the head and write nothing there. */
TEST(its_queue_is_left_as_it_is)
{
    lk_hold *hold = locking_hold(ours(f));
    standin *head = queued(f);
    taker *t = locking_take(f, ours(f), LK_FOREVER, NULL);
    char *before =
        server_string(f->server, "ZSCORE %s %s", "redisson_lock_timeout:{n}",
                      standin_owner(head));
    char *after;

    locking_wait_queued(f, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    after = server_string(f->server, "ZSCORE %s %s",
                          "redisson_lock_timeout:{n}", standin_owner(head));
    assert_string_equal(after, before);
    free(before);
    free(after);
    before = server_string(f->server, "LINDEX redisson_lock_queue:{n} 0");
    assert_string_equal(before, standin_owner(head));
    free(before);
    assert_int_equal(server_integer(f->server, "LLEN redisson_lock_queue:{n}"),
                     1);
    assert_int_equal(server_integer(f->server, "PTTL redisson_lock_queue:{n}"),
                     -1);
    standin_give_up(head);
}

/* Redisson's own waiters would stand behind it for minutes. */
TEST(a_dead_head_of_its_queue_does_not_stop_ours)
{
    lk_hold *hold = locking_hold(ours(f));
    taker *takers[3];
    uint64_t since;

    standin_free(queued(f));
    for (int i = 0; i < 3; i++) {
        takers[i] = locking_take(f, ours(f), LK_FOREVER, NULL);
        locking_wait_queued(f, "n", i + 1);
    }
    since = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < 3; i++)
        assert_status(taker_release(takers[i]), LK_OK);
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(wait_scaled_ms(3 * AT_ONCE_MS)));
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
