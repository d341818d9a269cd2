/* SPDX-License-Identifier: MIT */

/*
 * The bare counter and what can go wrong on the way: answers that are lost
 * after the change was made, or never come, and connections that break.
 * Whatever happens, each change is made once, and each permit counted once.
 */

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/plain.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { COMMAND = 0, SOON_MS = 10000 };

static proxy *the_proxy;

static int start(void **state)
{
    if (locking_setup(state) != 0)
        return -1;
    the_proxy = locking_proxy(*state);
    return 0;
}

#define FAULT(name) CHECK_TEST_OF(name, locking *f, start, locking_teardown)

/* A handle of a client behind the proxy: connection 0 is for its commands. */
static lk_plain_semaphore *
far_with(locking *f, const lk_client_options *options)
{
    return locking_of(f, lk_plain_semaphore, locking_open_far(f, options));
}

static lk_plain_semaphore *far(locking *f)
{
    return far_with(f, NULL);
}

/* The same, whose inbox stands. */
static lk_plain_semaphore *far_listening(locking *f)
{
    lk_plain_semaphore *semaphore = far(f);

    assert_status(lk_plain_semaphore_try_set(semaphore, 0, 0), LK_OK);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, wait_scaled_ms(300),
                                             NULL),
                  LK_ETIMEDOUT);
    locking_wait_queued(f, "n", 0);
    return semaphore;
}

/* ---- an answer that is lost ------------------------------------------------------ */

static void lose_the_next_answer(void)
{
    proxy_drop_replies(the_proxy, COMMAND, true);
}

FAULT(a_release_whose_answer_is_lost_counts_once)
{
    lk_plain_semaphore *semaphore = far(f);

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    lose_the_next_answer();
    plain_give(semaphore, 2);
    assert_int_equal(plain_value(f), 7);
}

FAULT(an_add_whose_answer_is_lost_counts_once)
{
    lk_plain_semaphore *semaphore = far(f);

    lose_the_next_answer();
    assert_status(lk_plain_semaphore_add(semaphore, -3), LK_OK);
    assert_int_equal(plain_value(f), -3);
}

FAULT(a_set_whose_answer_is_lost_is_known_to_be_ours)
{
    lk_plain_semaphore *semaphore = far(f);

    lose_the_next_answer();
    assert_status(lk_plain_semaphore_try_set(semaphore, 3, 0), LK_OK);
    assert_int_equal(plain_value(f), 3);
}

FAULT(a_drain_whose_answer_is_lost_tells_what_it_took)
{
    lk_plain_semaphore *semaphore = far(f);
    int64_t taken = 0;

    assert_status(lk_plain_semaphore_try_set(semaphore, 9, 0), LK_OK);
    lose_the_next_answer();
    assert_status(lk_plain_semaphore_drain(semaphore, &taken), LK_OK);
    assert_int_equal(taken, 9);
    assert_int_equal(plain_value(f), 0);
}

FAULT(a_delete_whose_answer_is_lost_is_known_to_be_ours)
{
    lk_plain_semaphore *semaphore = far(f);

    assert_status(lk_plain_semaphore_try_set(semaphore, 9, 0), LK_OK);
    lose_the_next_answer();
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
    assert_false(locking_exists(f, "n"));
}

/* The answer of the look that took. */
FAULT(a_wait_whose_answer_is_lost_takes_once)
{
    lk_plain_semaphore *near = locking_new(f, lk_plain_semaphore);
    taker *t = plain_queue_up(f, far_listening(f), 2, 1);

    lose_the_next_answer();
    plain_give(near, 3);
    assert_status(taker_join(t), LK_OK);
    assert_int_equal(plain_value(f), 1);
    locking_wait_queued(f, "n", 0);
}

static long long remembered(locking *f)
{
    return server_integer(f->server, "HLEN latchkey:{n}:m");
}

/* Its first request may still be on its way, as far as the client can tell. */
FAULT(what_was_asked_twice_is_remembered)
{
    lk_plain_semaphore *semaphore = far(f);
    long long before;

    assert_status(lk_plain_semaphore_try_set(semaphore, 9, 0), LK_OK);
    plain_take(semaphore, 1, 0);
    plain_give(semaphore, 1);
    plain_take(semaphore, 1, 0);
    plain_give(semaphore, 1);
    before = remembered(f);
    plain_take(semaphore, 1, 0);
    plain_give(semaphore, 1);
    assert_int_equal(remembered(f), before);

    lose_the_next_answer();
    plain_give(semaphore, 1);
    plain_give(semaphore, 1);
    plain_give(semaphore, 1);
    assert_int_equal(remembered(f), before + 1);
    proxy_drop_replies(the_proxy, proxy_accepted(the_proxy) - 1, true);
    plain_take(semaphore, 1, 5000);
    plain_give(semaphore, 1);
    plain_give(semaphore, 1);
    assert_int_equal(remembered(f), before + 2);
}

/* ---- no answer in time ------------------------------------------------------------ */

/* The call has ended; the library goes on. */
FAULT(a_release_without_an_answer_is_made_in_the_background)
{
    lk_plain_semaphore *semaphore = far_with(f, locking_hasty());

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_swallow(the_proxy, COMMAND, PROXY_REQUESTS);
    proxy_refuse(the_proxy, true);
    assert_status(lk_plain_semaphore_release(semaphore, 2), LK_EPENDING);
    assert_int_equal(plain_value(f), 5);
    proxy_heal(the_proxy);
    plain_wait_value(f, 7);
    plain_give(semaphore, 1);
    assert_int_equal(plain_value(f), 8);
}

FAULT(a_release_that_was_made_unanswered_is_made_once)
{
    lk_plain_semaphore *semaphore = far_with(f, locking_hasty());

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_swallow(the_proxy, COMMAND, PROXY_REPLIES);
    proxy_refuse(the_proxy, true);
    assert_status(lk_plain_semaphore_release(semaphore, 2), LK_EPENDING);
    assert_int_equal(plain_value(f), 7);
    proxy_heal(the_proxy);
    assert_status(lk_client_wait_ready(f->clients[0],
                                       (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    plain_give(semaphore, 1); /* behind what was asked again */
    assert_int_equal(plain_value(f), 8);
}

/* As long as it was told to wait. */
FAULT(a_shutdown_waits_for_a_release_in_doubt)
{
    lk_plain_semaphore *semaphore = far_with(f, locking_hasty());

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_swallow(the_proxy, COMMAND, PROXY_REQUESTS);
    proxy_refuse(the_proxy, true);
    assert_status(lk_plain_semaphore_release(semaphore, 2), LK_EPENDING);
    assert_int_equal(plain_value(f), 5);
    proxy_heal(the_proxy);
    assert_status(lk_client_shutdown(f->clients[0],
                                     (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    assert_int_equal(plain_value(f), 7);
}

/* A question changes nothing: there is nothing to be in doubt about. */
FAULT(a_question_without_an_answer_leaves_no_doubt)
{
    lk_plain_semaphore *semaphore = far_with(f, locking_hasty());
    int64_t count = 7;

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_swallow(the_proxy, COMMAND, PROXY_REPLIES);
    proxy_refuse(the_proxy, true);
    assert_status(lk_plain_semaphore_count(semaphore, &count), LK_EOFFLINE);
    assert_int_equal(count, 7);
    assert_true(remembered(f) <= 2);
}

/* Nothing was sent: nothing will be. */
FAULT(a_release_that_was_never_sent_is_not_made)
{
    lk_plain_semaphore *semaphore = far_with(f, locking_hasty());
    int64_t count;

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    assert_soon(lk_client_wait_ready(f->clients[0], 0) != LK_OK, SOON_MS);
    assert_status(lk_plain_semaphore_release(semaphore, 2), LK_EOFFLINE);
    proxy_heal(the_proxy);
    assert_status(lk_client_wait_ready(f->clients[0],
                                       (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    assert_status(lk_plain_semaphore_count(semaphore, &count), LK_OK);
    assert_int_equal(count, 5);
}

FAULT(what_an_acquire_in_doubt_took_is_given_back)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_limit_ms(1500)};
    lk_plain_semaphore *semaphore = far_with(f, &options);
    call c = {0};

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_swallow(the_proxy, COMMAND, PROXY_REPLIES);
    proxy_refuse(the_proxy, true);
    assert_status(lk_plain_semaphore_acquire_async(semaphore, 2, 0, NULL,
                                                   call_on_done, &c),
                  LK_OK);
    plain_wait_value(f, 3);
    assert_status(call_wait(&c, NULL), LK_EINDOUBT);
    proxy_heal(the_proxy);
    plain_wait_value(f, 5);
}

/* The old connection cannot be killed, and its acquire comes at last. By then
   its claim was given up; another may have stood in for it in time, or was given
   up as well. */
FAULT(an_acquire_that_comes_late_meets_a_tombstone)
{
    lk_client_options options = *locking_hasty();
    lk_plain_semaphore *semaphore;
    lk_status status;

    options.user = "far";
    options.password = "word";
    free(server_string(
        f->server,
        "ACL SETUSER far on >word ~* &* +@all -client|id -client|kill"));
    semaphore = far_with(f, &options);
    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    status = lk_plain_semaphore_acquire(semaphore, 2, 0, NULL);
    assert_true(status == LK_EINDOUBT || status == LK_OK);
    assert_soon(server_integer(f->server,
                               "ZCOUNT latchkey:{n}:q 2533274790395904 +inf") >
                    0,
                SOON_MS);
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    /* What was kept back has reached the server. */
    assert_soon(proxy_delivered(the_proxy, COMMAND, PROXY_REQUESTS) ==
                    proxy_received(the_proxy, COMMAND, PROXY_REQUESTS),
                SOON_MS);
    plain_take(semaphore, 1, (int64_t)wait_limit_ms(5000));
    plain_wait_value(f, status == LK_OK ? 2 : 4);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
