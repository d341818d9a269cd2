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
    if (locking_setup(state) != 0)
        return -1;
    the_proxy = locking_proxy(*state);
    return 0;
}

#define LINK_TEST(name) CHECK_TEST_OF(name, locking *f, setup, locking_teardown)

/* The lock of a client behind the proxy; options may be NULL. */
static lk_siglock *far_lock(locking *f, const lk_client_options *options)
{
    return locking_of(f, lk_siglock, locking_open_far(f, options));
}

static lk_client *far_client(locking *f)
{
    return f->clients[0];
}

/* The far client waits for what a near one holds. */
static lk_hold *far_waits(locking *f, call **ret_call)
{
    lk_siglock *far = far_lock(f, NULL);
    lk_hold *hold = locking_hold(locking_new(f, lk_siglock));

    *ret_call = locking_begin(f, far, LK_FOREVER, NULL);
    sig_wait_blocked(f, 1);
    return hold;
}

static void assert_within(uint64_t began, unsigned ms)
{
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(ms + wait_scaled_ms(SLACK_MS)));
}

/* ---- the lane ------------------------------------------------------------- */

LINK_TEST(a_lane_that_breaks_comes_back)
{
    call *c;
    lk_hold *hold = far_waits(f, &c);

    proxy_reset(the_proxy, LANE);
    locking_wait_integer(f, 1, "EXISTS %s", "lock:n");
    assert_true(proxy_wait_accepted(the_proxy, 3, SOON_MS));
    sig_wait_blocked(f, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_serve(c);
    sig_assert_clean(f);
}

/* Longer than any other answer may be in coming. */
LINK_TEST(a_pop_is_no_broken_connection)
{
    const unsigned answer_ms = (unsigned)wait_limit_ms(300);
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = answer_ms};
    lk_siglock *far = far_lock(f, &options);
    lk_hold *hold = locking_hold(locking_new(f, lk_siglock));
    call *c = locking_begin(f, far, LK_FOREVER, NULL);

    sig_wait_blocked(f, 1);
    locking_pass_time(3 * answer_ms);
    assert_int_equal(locking_stats(far_client(f)).disconnects, 0);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_serve(c);
}

/* The signal was popped, and nobody has it: the next look finds a free name. */
LINK_TEST(a_signal_that_is_lost_costs_a_look)
{
    call *c;
    lk_hold *hold = far_waits(f, &c);
    uint64_t began = wait_now_ms();

    proxy_swallow(the_proxy, LANE, PROXY_REPLIES);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_serve(c);
    assert_within(began, LOOK_MS);
    proxy_heal(the_proxy);
    sig_assert_clean(f);
}

/* It broke with a signal in its hands that nobody here wants any more: the
   other library, which never looks, hears of it. */
LINK_TEST(a_signal_in_a_broken_lane_is_told_again)
{
    lk_siglock *far = far_lock(f, NULL);
    lk_hold *hold = locking_hold(locking_new(f, lk_siglock));
    pylock *p = sig_pylock(f, "theirs", 0);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call *c;

    assert_status(lk_cancel_new(&cancel, far_client(f)), LK_OK);
    options.cancel = cancel;
    c = locking_begin(f, far, LK_FOREVER, &options);
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
LINK_TEST(a_grant_whose_answer_is_lost_is_had_once)
{
    call *c;
    lk_hold *hold = far_waits(f, &c);
    char *before, *after;

    proxy_drop_replies(the_proxy, COMMAND, true);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_integer(f, 1, "EXISTS %s", "lock:n");
    before = sig_holder(f);
    hold = locking_granted(c);
    after = sig_holder(f);
    assert_string_equal(before, after);
    free(before);
    free(after);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_assert_clean(f);
}

/* The signal came while nothing could be asked: it is not for one alone. */
LINK_TEST(a_signal_without_a_connection_for_commands_is_not_lost)
{
    call *c;
    lk_hold *hold = far_waits(f, &c);

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, COMMAND);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_wait_blocked(f, 0);
    proxy_refuse(the_proxy, false);
    locking_serve(c);
    sig_assert_clean(f);
}

/* ---- the server ------------------------------------------------------------- */

/* A shutdown takes no signal along. */
LINK_TEST(a_shutdown_ends_waits_and_tells_the_next)
{
    lk_siglock *far = far_lock(f, NULL);
    lk_siglock *near = locking_new(f, lk_siglock);
    pylock *p = sig_pylock(f, "theirs", 0);
    lk_hold *hold = locking_hold(near);
    call *c = locking_begin(f, far, LK_FOREVER, NULL);

    sig_wait_blocked(f, 1);
    pylock_listen(p);
    sig_wait_blocked(f, 2);
    assert_status(lk_client_shutdown(far_client(f), SOON_MS), LK_OK);
    assert_status(call_wait(c, NULL), LK_ECLOSED);
    sig_wait_blocked(f, 1);
    assert_status(lk_client_shutdown(f->clients[1], SOON_MS), LK_OK);
    assert_true(pylock_heard(p, SOON_MS));
    assert_true(pylock_try(p));
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

/* ---- rights ------------------------------------------------------------------ */

/* ACL SETUSER with words that stand in one text, without blanks within. */
static redisReply *rights_set(locking *f, const char *rights)
{
    char command[512];

    (void)snprintf(command, sizeof(command), "ACL SETUSER far %s", rights);
    return server_command(f->server, command);
}

/* The lock of a far client that has these rights, or lacks them, after all. */
static lk_siglock *lock_without(locking *f, const char *right)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word"};
    redisReply *reply =
        server_command(f->server, "ACL SETUSER far reset on >word ~* &* +@all");

    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    reply = rights_set(f, right);

    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    return far_lock(f, &options);
}

LINK_TEST(the_rights_of_the_manual_are_enough)
{
    lk_siglock *far = lock_without(
        f, "resetkeys ~lock:* ~lock-signal:* ~latchkey:* resetchannels -@all "
           "+@connection +get +mget +set +del +exists +llen +lpush +blpop "
           "+pexpire +pttl +zscore +eval +evalsha +time +info");
    lk_siglock *near = locking_new(f, lk_siglock);
    lk_hold *hold = locking_hold(far);
    call *c = locking_begin(f, near, LK_FOREVER, NULL);
    bool locked = false;
    lk_info *info = NULL;

    assert_status(lk_siglock_is_locked(far, &locked), LK_OK);
    assert_status(lk_siglock_info(far, &info), LK_OK);
    lk_info_free(info);
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    sig_wait_blocked(f, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = locking_granted(c);
    c = locking_begin(f, far, LK_FOREVER, NULL);
    sig_wait_blocked(f, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_serve(c);
    assert_int_equal(server_integer(f->server,
                                    "DEL lock-signal:n latchkey:void:{n}"),
                     1);
}

LINK_TEST(without_pops_waits_look)
{
    lk_siglock *far = lock_without(f, "-blpop");
    lk_hold *hold = locking_hold(locking_new(f, lk_siglock));
    call *c = locking_begin(f, far, LK_FOREVER, NULL);
    uint64_t began;

    locking_wait_waiting(far_client(f), 1);
    assert_true(proxy_wait_accepted(the_proxy, 2, SOON_MS));
    began = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    locking_serve(c);
    assert_within(began, LOOK_MS);
}

/* How many bytes the arguments of the one pop under way have; 0: there is
   none. */
static long long pop_size(locking *f)
{
    char *list = server_string(f->server, "CLIENT LIST");
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
    locking *f;
    long long before;
} growth;

static bool has_grown(const growth *g)
{
    return pop_size(g->f) > g->before;
}

/* The set of names changes under a pop that cannot be ended early. */
LINK_TEST(without_unblocking_pops_are_short)
{
    lk_siglock *far = lock_without(f, "-client|unblock");
    lk_siglock *other = locking_named(f, lk_siglock, far_client(f), "other");
    lk_siglock *near = locking_new(f, lk_siglock);
    lk_hold *hold = locking_hold(near);
    lk_hold *second =
        locking_hold(locking_named(f, lk_siglock, f->clients[1], "other"));
    call *c = locking_begin(f, far, LK_FOREVER, NULL);
    lk_hold *third =
        locking_hold(locking_named(f, lk_siglock, f->clients[1], "third"));
    growth g = {f, 0};
    call *d, *e;

    sig_wait_blocked(f, 1);
    g.before = pop_size(f);
    assert_true(g.before > 0);
    d = locking_begin(f, other, LK_FOREVER, NULL);
    assert_soon(has_grown(&g), SOON_MS);
    g.before = pop_size(f);
    e = locking_begin(f, locking_named(f, lk_siglock, far_client(f), "third"),
                      LK_FOREVER, NULL);
    assert_soon(has_grown(&g), SOON_MS);
    assert_status(lk_hold_release(third), LK_OK);
    locking_serve(e);
    assert_status(lk_hold_release(second), LK_OK);
    locking_serve(d);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_serve(c);
    sig_assert_clean(f);
}

/* Where requests cannot be proven dead, a claim in doubt is given up. */
LINK_TEST(without_kill_a_lost_answer_ends_in_one_hold)
{
    lk_siglock *far = lock_without(f, "-client|kill");
    lk_hold *hold = locking_hold(locking_new(f, lk_siglock));
    call *c = locking_begin(f, far, LK_FOREVER, NULL);

    sig_wait_blocked(f, 1);
    proxy_drop_replies(the_proxy, COMMAND, true);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = locking_granted(c);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(locking_exists(f, "latchkey:void:{n}"));
    assert_status(lk_hold_release(hold), LK_OK);
    sig_assert_clean(f);
}

LINK_TEST(without_pushes_who_waits_looks)
{
    lk_hold *hold = locking_hold(lock_without(f, "-lpush"));
    call *c = locking_begin(f, locking_new(f, lk_siglock), LK_FOREVER, NULL);
    uint64_t began;

    sig_wait_blocked(f, 1);
    began = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    locking_serve(c);
    assert_within(began, LOOK_MS);
}

/*
 * One signal that is none makes every pop fail; it goes with the release. A pop
 * that is still on its way may take the new one, and then tells it again.
 */
LINK_TEST(a_signal_of_the_wrong_type_costs_looks)
{
    call *c;
    lk_hold *hold = far_waits(f, &c);
    lk_siglock *other = locking_named(f, lk_siglock, far_client(f), "other");
    lk_hold *second =
        locking_hold(locking_named(f, lk_siglock, f->clients[1], "other"));
    call *d;

    freeReplyObject(server_command(f->server, "SET lock-signal:n text"));
    d = locking_begin(f, other, LK_FOREVER, NULL);
    assert_status(lk_hold_release(second), LK_OK);
    locking_serve(d);
    assert_status(call_wait(c, NULL), LK_ETYPE);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_soon(server_integer(f->server, "LLEN lock-signal:n") == 1, SOON_MS);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
