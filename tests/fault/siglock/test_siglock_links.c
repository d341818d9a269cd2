/* SPDX-License-Identifier: MIT */

/*
 * Siglocks whose connections break, whose server forgets, stands still or
 * denies something: nobody waits for longer than a look, and no signal is kept
 * from others.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/proxy.h"
#include "support/siglocking.h"
#include "support/wait.h"

/* The connections of the far client, in the order in which it makes them. */
enum { COMMAND, LANE };

enum { LOOK_MS = 1000, SLACK_MS = 500, SOON_MS = 5000 };

static proxy *the_proxy;

static int setup(void **state)
{
    if (siglocking_setup(state) != 0)
        return -1;
    the_proxy = locking_proxy(((siglocking *)*state)->base);
    return 0;
}

#define LINK_TEST(f)                                                           \
    cmocka_unit_test_setup_teardown(f, setup, siglocking_teardown)

/* The lock of a client behind the proxy; options may be NULL. */
static lk_siglock *far_lock(siglocking *f, const lk_client_options *options)
{
    return sig_lock(f, locking_open_far(f->base, options));
}

static lk_client *far_client(siglocking *f)
{
    return f->base->clients[0];
}

/* The far client waits for what a near one holds. */
static lk_hold *far_waits(siglocking *f, call **ret_call)
{
    lk_siglock *far = far_lock(f, NULL);
    lk_hold *hold = sig_hold(sig_lock_of_new_client(f));

    *ret_call = sig_wait(f, far);
    sig_wait_blocked(f, 1);
    return hold;
}

static void assert_within(uint64_t began, unsigned ms)
{
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(ms + wait_scaled_ms(SLACK_MS)));
}

/* ---- the lane ------------------------------------------------------------- */

static void a_lane_that_breaks_comes_back(void **state)
{
    siglocking *f = *state;
    call *c;
    lk_hold *hold = far_waits(f, &c);

    proxy_reset(the_proxy, LANE);
    locking_wait_integer(f->base, 1, "EXISTS %s", "lock:n");
    assert_true(proxy_wait_accepted(the_proxy, 3, SOON_MS));
    sig_wait_blocked(f, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_serve(c);
    sig_assert_clean(f);
}

/* Longer than any other answer may be in coming. */
static void a_pop_is_no_broken_connection(void **state)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_scaled_ms(300)};
    siglocking *f = *state;
    lk_siglock *far = far_lock(f, &options);
    lk_hold *hold = sig_hold(sig_lock_of_new_client(f));
    call *c = sig_wait(f, far);

    sig_wait_blocked(f, 1);
    locking_pass_time(wait_scaled_ms(1000));
    assert_int_equal(locking_stats(far_client(f)).disconnects, 0);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_serve(c);
}

/* The signal was popped, and nobody has it: the next look finds a free name. */
static void a_signal_that_is_lost_costs_a_look(void **state)
{
    siglocking *f = *state;
    call *c;
    lk_hold *hold = far_waits(f, &c);
    uint64_t began = wait_now_ms();

    proxy_swallow(the_proxy, LANE, PROXY_REPLIES);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_serve(c);
    assert_within(began, LOOK_MS);
    proxy_heal(the_proxy);
    sig_assert_clean(f);
}

/* It broke with a signal in its hands that nobody here wants any more: the
   other library, which never looks, hears of it. */
static void a_signal_in_a_broken_lane_is_told_again(void **state)
{
    siglocking *f = *state;
    lk_siglock *far = far_lock(f, NULL);
    lk_hold *hold = sig_hold(sig_lock_of_new_client(f));
    pylock *p = sig_pylock(f, "theirs", 0);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call *c;

    assert_status(lk_cancel_new(&cancel, far_client(f)), LK_OK);
    options.cancel = cancel;
    c = sig_wait_for(f, far, LK_FOREVER, &options);
    sig_wait_blocked(f, 1);
    pylock_listen(p);
    sig_wait_blocked(f, 2);
    proxy_stall(the_proxy, LANE, PROXY_REPLIES);
    proxy_stall(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_wait_blocked(f, 1);
    lk_cancel_fire(cancel);
    assert_status(call_wait(c, NULL), LK_ECANCELED);
    assert_false(pylock_heard(p, 50));
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    proxy_reset(the_proxy, LANE);
    assert_true(pylock_heard(p, SOON_MS));
    assert_true(pylock_try(p));
    lk_cancel_free(cancel);
    assert_true(pylock_release(p));
}

/* ---- the connection for commands ------------------------------------------- */

/* The try that the signal led to was granted, and the answer was lost. */
static void a_grant_whose_answer_is_lost_is_had_once(void **state)
{
    siglocking *f = *state;
    call *c;
    lk_hold *hold = far_waits(f, &c);
    char *before, *after;

    proxy_drop_replies(the_proxy, COMMAND, true);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_integer(f->base, 1, "EXISTS %s", "lock:n");
    before = sig_holder(f);
    hold = sig_granted(c);
    after = sig_holder(f);
    assert_string_equal(before, after);
    free(before);
    free(after);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_assert_clean(f);
}

static void a_release_whose_answer_is_lost_is_done(void **state)
{
    siglocking *f = *state;
    lk_siglock *far = far_lock(f, NULL);
    call *c = sig_wait(f, sig_lock_of_new_client(f));
    lk_hold *hold;

    sig_serve(c);
    hold = sig_hold(far);
    proxy_drop_replies(the_proxy, COMMAND, true);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_assert_clean(f);
}

/* The signal came while nothing could be asked: it is not for one alone. */
static void a_signal_without_a_connection_for_commands_is_not_lost(void **state)
{
    siglocking *f = *state;
    call *c;
    lk_hold *hold = far_waits(f, &c);

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, COMMAND);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_wait_blocked(f, 0);
    proxy_refuse(the_proxy, false);
    sig_serve(c);
    sig_assert_clean(f);
}

/* ---- the server ------------------------------------------------------------- */

static void what_was_flushed_is_lost_and_free(void **state)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    siglocking *f = *state;
    lk_siglock *lock = sig_lock(f, locking_open(f->base, &options));
    lk_hold *hold = sig_hold(lock);
    call *c = sig_wait(f, sig_lock_of_new_client(f));
    uint64_t began;

    sig_wait_blocked(f, 1);
    began = wait_now_ms();
    server_flush(f->base->server);
    sig_serve(c);
    assert_within(began, LOOK_MS);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static void waits_outlive_a_server_that_starts_again(void **state)
{
    siglocking *f = *state;
    call *c;
    lk_hold *hold = far_waits(f, &c);
    lk_siglock *near = f->locks[1];

    assert_true(server_restart(f->base->server));
    assert_status(lk_hold_release(sig_granted(c)), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    hold = sig_hold(near);
    c = sig_wait(f, f->locks[0]);
    sig_wait_blocked(f, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_serve(c);
}

/* A shutdown takes no signal along. */
static void a_shutdown_ends_waits_and_tells_the_next(void **state)
{
    siglocking *f = *state;
    lk_siglock *far = far_lock(f, NULL);
    lk_siglock *near = sig_lock_of_new_client(f);
    pylock *p = sig_pylock(f, "theirs", 0);
    lk_hold *hold = sig_hold(near);
    call *c = sig_wait(f, far);

    sig_wait_blocked(f, 1);
    pylock_listen(p);
    sig_wait_blocked(f, 2);
    assert_status(lk_client_shutdown(far_client(f), SOON_MS), LK_OK);
    assert_status(call_wait(c, NULL), LK_ECLOSED);
    sig_wait_blocked(f, 1);
    assert_status(lk_client_shutdown(f->base->clients[1], SOON_MS), LK_OK);
    assert_true(pylock_heard(p, SOON_MS));
    assert_true(pylock_try(p));
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

/* ---- rights ------------------------------------------------------------------ */

/* ACL SETUSER with words that stand in one text, without blanks within. */
static redisReply *rights_set(siglocking *f, const char *rights)
{
    char command[512];

    (void)snprintf(command, sizeof(command), "ACL SETUSER far %s", rights);
    return server_command(f->base->server, command);
}

/* The lock of a far client that has these rights, or lacks them, after all. */
static lk_siglock *lock_without(siglocking *f, const char *right)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word"};
    redisReply *reply =
        server_command(f->base->server,
                       "ACL SETUSER far reset on >word ~* &* +@all");

    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    reply = rights_set(f, right);

    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    return far_lock(f, &options);
}

static void the_rights_of_the_manual_are_enough(void **state)
{
    siglocking *f = *state;
    lk_siglock *far = lock_without(
        f, "resetkeys ~lock:* ~lock-signal:* ~latchkey:* resetchannels -@all "
           "+@connection +get +mget +set +del +exists +llen +lpush +blpop "
           "+pexpire +pttl +zscore +eval +evalsha +time +info");
    lk_siglock *near = sig_lock_of_new_client(f);
    lk_hold *hold = sig_hold(far);
    call *c = sig_wait(f, near);
    bool locked = false;
    lk_info *info = NULL;

    assert_status(lk_siglock_is_locked(far, &locked), LK_OK);
    assert_status(lk_siglock_info(far, &info), LK_OK);
    lk_info_free(info);
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    sig_wait_blocked(f, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = sig_granted(c);
    c = sig_wait(f, far);
    sig_wait_blocked(f, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_serve(c);
    assert_int_equal(server_integer(f->base->server,
                                    "DEL lock-signal:n latchkey:void:{n}"),
                     1);
}

static void without_pops_waits_look(void **state)
{
    siglocking *f = *state;
    lk_siglock *far = lock_without(f, "-blpop");
    lk_hold *hold = sig_hold(sig_lock_of_new_client(f));
    call *c = sig_wait(f, far);
    uint64_t began;

    locking_wait_waiting(far_client(f), 1);
    assert_true(proxy_wait_accepted(the_proxy, 2, SOON_MS));
    began = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    sig_serve(c);
    assert_within(began, LOOK_MS);
}

/* How many bytes the arguments of the one pop under way have; 0: there is
   none. */
static long long pop_size(siglocking *f)
{
    char *list = server_string(f->base->server, "CLIENT LIST");
    const char *line = strstr(list, " cmd=blpop ");
    const char *at;
    long long size = 0;

    if (line != NULL) {
        while (line > list && line[-1] != '\n')
            line--;
        at = strstr(line, " argv-mem=");
        size = at == NULL ? 0 : strtoll(at + 10, NULL, 10);
    }
    free(list);
    return size;
}

typedef struct growth {
    siglocking *f;
    long long before;
} growth;

static bool has_grown(void *data)
{
    const growth *g = data;

    return pop_size(g->f) > g->before;
}

/* The set of names changes under a pop that cannot be ended early. */
static void without_unblocking_pops_are_short(void **state)
{
    siglocking *f = *state;
    lk_siglock *far = lock_without(f, "-client|unblock");
    lk_siglock *other = sig_lock_named(f, far_client(f), "other");
    lk_siglock *near = sig_lock_of_new_client(f);
    lk_hold *hold = sig_hold(near);
    lk_hold *second = sig_hold(sig_lock_named(f, f->base->clients[1], "other"));
    call *c = sig_wait(f, far);
    lk_hold *third = sig_hold(sig_lock_named(f, f->base->clients[1], "third"));
    growth g = {f, 0};
    call *d, *e;

    sig_wait_blocked(f, 1);
    g.before = pop_size(f);
    assert_true(g.before > 0);
    d = sig_wait(f, other);
    assert_true(wait_until(has_grown, &g, SOON_MS));
    g.before = pop_size(f);
    e = sig_wait(f, sig_lock_named(f, far_client(f), "third"));
    assert_true(wait_until(has_grown, &g, SOON_MS));
    assert_status(lk_hold_release(third), LK_OK);
    sig_serve(e);
    assert_status(lk_hold_release(second), LK_OK);
    sig_serve(d);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_serve(c);
    sig_assert_clean(f);
}

/* Where requests cannot be proven dead, a claim in doubt is given up. */
static void without_kill_a_lost_answer_ends_in_one_hold(void **state)
{
    siglocking *f = *state;
    lk_siglock *far = lock_without(f, "-client|kill");
    lk_hold *hold = sig_hold(sig_lock_of_new_client(f));
    call *c = sig_wait(f, far);

    sig_wait_blocked(f, 1);
    proxy_drop_replies(the_proxy, COMMAND, true);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = sig_granted(c);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(locking_exists(f->base, "latchkey:void:{n}"));
    assert_status(lk_hold_release(hold), LK_OK);
    sig_assert_clean(f);
}

static void without_pushes_who_waits_looks(void **state)
{
    siglocking *f = *state;
    lk_hold *hold = sig_hold(lock_without(f, "-lpush"));
    call *c = sig_wait(f, sig_lock_of_new_client(f));
    uint64_t began;

    sig_wait_blocked(f, 1);
    began = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    sig_serve(c);
    assert_within(began, LOOK_MS);
}

static bool has_one_signal(void *data)
{
    siglocking *f = data;

    return server_integer(f->base->server, "LLEN lock-signal:n") == 1;
}

/*
 * One signal that is none makes every pop fail; it goes with the release. A pop
 * that is still on its way may take the new one, and then tells it again.
 */
static void a_signal_of_the_wrong_type_costs_looks(void **state)
{
    siglocking *f = *state;
    call *c;
    lk_hold *hold = far_waits(f, &c);
    lk_siglock *other = sig_lock_named(f, far_client(f), "other");
    lk_hold *second = sig_hold(sig_lock_named(f, f->base->clients[1], "other"));
    call *d;

    freeReplyObject(server_command(f->base->server, "SET lock-signal:n text"));
    d = sig_wait(f, other);
    assert_status(lk_hold_release(second), LK_OK);
    sig_serve(d);
    assert_status(call_wait(c, NULL), LK_ETYPE);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(wait_until(has_one_signal, f, SOON_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINK_TEST(a_lane_that_breaks_comes_back),
        LINK_TEST(a_pop_is_no_broken_connection),
        LINK_TEST(a_signal_that_is_lost_costs_a_look),
        LINK_TEST(a_signal_in_a_broken_lane_is_told_again),
        LINK_TEST(a_grant_whose_answer_is_lost_is_had_once),
        LINK_TEST(a_release_whose_answer_is_lost_is_done),
        LINK_TEST(a_signal_without_a_connection_for_commands_is_not_lost),
        LINK_TEST(what_was_flushed_is_lost_and_free),
        LINK_TEST(waits_outlive_a_server_that_starts_again),
        LINK_TEST(a_shutdown_ends_waits_and_tells_the_next),
        LINK_TEST(the_rights_of_the_manual_are_enough),
        LINK_TEST(without_pops_waits_look),
        LINK_TEST(without_unblocking_pops_are_short),
        LINK_TEST(without_kill_a_lost_answer_ends_in_one_hold),
        LINK_TEST(without_pushes_who_waits_looks),
        LINK_TEST(a_signal_of_the_wrong_type_costs_looks),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
