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

enum { COMMAND = 0, INBOX = 1, SOON_MS = 10000 };

static proxy *the_proxy;

static int start(void **state)
{
    if (plain_start(state) != 0)
        return -1;
    the_proxy = locking_proxy(((plain *)*state)->base);
    return 0;
}

#define FAULT(f) cmocka_unit_test_setup_teardown(f, start, plain_end)

/* A handle of a client behind the proxy: connection 0 is for its commands. */
static lk_plain_semaphore *far_with(plain *f, const lk_client_options *options)
{
    return plain_of(f, locking_open_far(f->base, options));
}

static lk_plain_semaphore *far(plain *f)
{
    return far_with(f, NULL);
}

/* The same, whose inbox stands. */
static lk_plain_semaphore *far_listening(plain *f)
{
    lk_plain_semaphore *semaphore = far(f);

    assert_status(lk_plain_semaphore_try_set(semaphore, 0, 0), LK_OK);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, wait_scaled_ms(300),
                                             NULL),
                  LK_ETIMEDOUT);
    plain_wait_clean(f);
    return semaphore;
}

/* ---- an answer that is lost ------------------------------------------------------ */

static void lose_the_next_answer(void)
{
    proxy_drop_replies(the_proxy, COMMAND, true);
}

static void a_release_whose_answer_is_lost_counts_once(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far(f);

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    lose_the_next_answer();
    plain_give(semaphore, 2);
    assert_int_equal(plain_value(f), 7);
}

static void an_add_whose_answer_is_lost_counts_once(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far(f);

    lose_the_next_answer();
    assert_status(lk_plain_semaphore_add(semaphore, -3), LK_OK);
    assert_int_equal(plain_value(f), -3);
}

static void a_set_whose_answer_is_lost_is_known_to_be_ours(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far(f);

    lose_the_next_answer();
    assert_status(lk_plain_semaphore_try_set(semaphore, 3, 0), LK_OK);
    assert_int_equal(plain_value(f), 3);
}

static void a_drain_whose_answer_is_lost_tells_what_it_took(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far(f);
    int64_t taken = 0;

    assert_status(lk_plain_semaphore_try_set(semaphore, 9, 0), LK_OK);
    lose_the_next_answer();
    assert_status(lk_plain_semaphore_drain(semaphore, &taken), LK_OK);
    assert_int_equal(taken, 9);
    assert_int_equal(plain_value(f), 0);
}

static void a_delete_whose_answer_is_lost_is_known_to_be_ours(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far(f);

    assert_status(lk_plain_semaphore_try_set(semaphore, 9, 0), LK_OK);
    lose_the_next_answer();
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
    assert_false(locking_exists(f->base, "n"));
}

static void an_acquire_whose_answer_is_lost_takes_once(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far(f);

    assert_status(lk_plain_semaphore_try_set(semaphore, 9, 0), LK_OK);
    lose_the_next_answer();
    plain_take(semaphore, 2, 5000);
    assert_int_equal(plain_value(f), 7);
}

/* The answer of the look that took. */
static void a_wait_whose_answer_is_lost_takes_once(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *near = plain_of_new_client(f);
    plain_taker *t = plain_queue_up(f, far_listening(f), 2, 1);

    lose_the_next_answer();
    plain_give(near, 3);
    assert_status(plain_join(t), LK_OK);
    assert_int_equal(plain_value(f), 1);
    plain_wait_clean(f);
}

static long long remembered(plain *f)
{
    return server_integer(f->base->server, "HLEN latchkey:{n}:m");
}

/* Its first request may still be on its way, as far as the client can tell. */
static void what_was_asked_twice_is_remembered(void **state)
{
    plain *f = *state;
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

static const lk_client_options hasty = {LK_CLIENT_OPTIONS_INIT,
                                        .command_timeout_ms = 300};

/* The call has ended; the library goes on. */
static void a_release_without_an_answer_is_made_in_the_background(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far_with(f, &hasty);

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_swallow(the_proxy, COMMAND, PROXY_REQUESTS);
    proxy_refuse(the_proxy, true);
    assert_status(lk_plain_semaphore_release(semaphore, 2), LK_EINDOUBT);
    assert_int_equal(plain_value(f), 5);
    proxy_heal(the_proxy);
    plain_wait_value(f, 7);
    plain_give(semaphore, 1);
    assert_int_equal(plain_value(f), 8);
}

static void a_release_that_was_made_unanswered_is_made_once(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far_with(f, &hasty);

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_swallow(the_proxy, COMMAND, PROXY_REPLIES);
    proxy_refuse(the_proxy, true);
    assert_status(lk_plain_semaphore_release(semaphore, 2), LK_EINDOUBT);
    assert_int_equal(plain_value(f), 7);
    proxy_heal(the_proxy);
    assert_status(lk_client_wait_ready(f->base->clients[0],
                                       (int64_t)wait_scaled_ms(SOON_MS)),
                  LK_OK);
    plain_give(semaphore, 1); /* behind what was asked again */
    assert_int_equal(plain_value(f), 8);
}

/* As long as it was told to wait. */
static void a_shutdown_waits_for_a_release_in_doubt(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far_with(f, &hasty);

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_swallow(the_proxy, COMMAND, PROXY_REQUESTS);
    proxy_refuse(the_proxy, true);
    assert_status(lk_plain_semaphore_release(semaphore, 2), LK_EINDOUBT);
    assert_int_equal(plain_value(f), 5);
    proxy_heal(the_proxy);
    assert_status(lk_client_shutdown(f->base->clients[0],
                                     (int64_t)wait_scaled_ms(SOON_MS)),
                  LK_OK);
    assert_int_equal(plain_value(f), 7);
}

/* A question changes nothing: there is nothing to be in doubt about. */
static void a_question_without_an_answer_leaves_no_doubt(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far_with(f, &hasty);
    int64_t count = 7;

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_swallow(the_proxy, COMMAND, PROXY_REPLIES);
    proxy_refuse(the_proxy, true);
    assert_status(lk_plain_semaphore_count(semaphore, &count), LK_EOFFLINE);
    assert_int_equal(count, 7);
    assert_true(remembered(f) <= 2);
}

static bool is_away(void *client)
{
    return lk_client_wait_ready(client, 0) != LK_OK;
}

/* Nothing was sent: nothing will be. */
static void a_release_that_was_never_sent_is_not_made(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = far_with(f, &hasty);
    int64_t count;

    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    assert_true(wait_until(is_away, f->base->clients[0], SOON_MS));
    assert_status(lk_plain_semaphore_release(semaphore, 2), LK_EOFFLINE);
    proxy_heal(the_proxy);
    assert_status(lk_client_wait_ready(f->base->clients[0],
                                       (int64_t)wait_scaled_ms(SOON_MS)),
                  LK_OK);
    assert_status(lk_plain_semaphore_count(semaphore, &count), LK_OK);
    assert_int_equal(count, 5);
}

static void what_an_acquire_in_doubt_took_is_given_back(void **state)
{
    plain *f = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_scaled_ms(1500)};
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

/* What was kept back has reached the server. */
static bool is_delivered(void *data)
{
    (void)data;
    return proxy_delivered(the_proxy, COMMAND, PROXY_REQUESTS) ==
           proxy_received(the_proxy, COMMAND, PROXY_REQUESTS);
}

static bool has_a_tombstone(void *f)
{
    return server_integer(((plain *)f)->base->server,
                          "ZCOUNT latchkey:{n}:q 2533274790395904 +inf") > 0;
}

/* The old connection cannot be killed, and its acquire comes at last. By then
   its claim was given up; another may have stood in for it in time, or was given
   up as well. */
static void an_acquire_that_comes_late_meets_a_tombstone(void **state)
{
    plain *f = *state;
    lk_client_options options = hasty;
    lk_plain_semaphore *semaphore;
    lk_status status;

    options.user = "far";
    options.password = "word";
    free(server_string(
        f->base->server,
        "ACL SETUSER far on >word ~* &* +@all -client|id -client|kill"));
    semaphore = far_with(f, &options);
    assert_status(lk_plain_semaphore_try_set(semaphore, 5, 0), LK_OK);
    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    status = lk_plain_semaphore_acquire(semaphore, 2, 0, NULL);
    assert_true(status == LK_EINDOUBT || status == LK_OK);
    assert_true(wait_until(has_a_tombstone, f, SOON_MS));
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_true(wait_until(is_delivered, NULL, SOON_MS));
    plain_take(semaphore, 1, (int64_t)wait_scaled_ms(5000));
    plain_wait_value(f, status == LK_OK ? 2 : 4);
}

/* ---- connections that break ---------------------------------------------------------- */

static void a_waiter_outlives_its_connections(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *near = plain_of_new_client(f);
    plain_taker *t = plain_queue_up(f, far_listening(f), 1, 1);

    proxy_reset(the_proxy, PROXY_ALL);
    plain_give(near, 1);
    assert_status(plain_join(t), LK_OK);
    assert_int_equal(plain_value(f), 0);
    plain_wait_clean(f);
}

static void a_message_that_is_lost_is_made_up_for(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *near = plain_of_new_client(f);
    plain_taker *t = plain_queue_up(f, far_listening(f), 1, 1);
    uint64_t begin;

    proxy_swallow(the_proxy, INBOX, PROXY_REPLIES);
    begin = wait_now_ms();
    plain_give(near, 1);
    assert_status(plain_join(t), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(1000 + wait_scaled_ms(2000)));
}

typedef struct worker {
    pthread_t id;
    lk_plain_semaphore *semaphore;
    int rounds;
    atomic_int *failed;
} worker;

/* Whatever a call says, what it took is given back, by it or by itself. */
static void *work(void *data)
{
    const worker *w = data;

    for (int i = 0; i < w->rounds; i++) {
        lk_status status =
            lk_plain_semaphore_acquire(w->semaphore, 1,
                                       (int64_t)wait_scaled_ms(SOON_MS), NULL);

        if (status == LK_OK)
            status = lk_plain_semaphore_release(w->semaphore, 1);
        if (status != LK_OK && status != LK_EINDOUBT && status != LK_EOFFLINE)
            atomic_fetch_add(w->failed, 1);
    }
    return NULL;
}

static void connections_that_break_all_the_time_lose_no_permit(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *near = plain_with(f, 2);
    lk_plain_semaphore *semaphore = far(f);
    atomic_int failed = 0;
    worker workers[6];

    for (int i = 0; i < 6; i++) {
        workers[i] = (worker){0, i % 2 == 0 ? semaphore : near, 150, &failed};
        assert_int_equal(pthread_create(&workers[i].id, NULL, work,
                                        &workers[i]),
                         0);
    }
    for (int i = 0; i < 20; i++) {
        locking_pass_time(25);
        if (i % 2 == 0)
            proxy_reset(the_proxy, PROXY_ALL);
        else
            proxy_drop_replies(the_proxy, PROXY_ALL, true);
        locking_pass_time(5);
        proxy_heal(the_proxy);
    }
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_join(workers[i].id, NULL), 0);
    assert_int_equal(failed, 0);
    plain_wait_value(f, 2);
    plain_wait_clean(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT(a_release_whose_answer_is_lost_counts_once),
        FAULT(an_add_whose_answer_is_lost_counts_once),
        FAULT(a_set_whose_answer_is_lost_is_known_to_be_ours),
        FAULT(a_drain_whose_answer_is_lost_tells_what_it_took),
        FAULT(a_delete_whose_answer_is_lost_is_known_to_be_ours),
        FAULT(an_acquire_whose_answer_is_lost_takes_once),
        FAULT(a_wait_whose_answer_is_lost_takes_once),
        FAULT(what_was_asked_twice_is_remembered),
        FAULT(a_release_without_an_answer_is_made_in_the_background),
        FAULT(a_release_that_was_made_unanswered_is_made_once),
        FAULT(a_shutdown_waits_for_a_release_in_doubt),
        FAULT(a_question_without_an_answer_leaves_no_doubt),
        FAULT(a_release_that_was_never_sent_is_not_made),
        FAULT(what_an_acquire_in_doubt_took_is_given_back),
        FAULT(an_acquire_that_comes_late_meets_a_tombstone),
        FAULT(a_waiter_outlives_its_connections),
        FAULT(a_message_that_is_lost_is_made_up_for),
        FAULT(connections_that_break_all_the_time_lose_no_permit),
    };

    return cmocka_run_group_tests_name("plain_faults", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
