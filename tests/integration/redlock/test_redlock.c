/* SPDX-License-Identifier: MIT */

/* The lock over several servers: having it, keeping it, losing it. */

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/redlocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

/* ---- having it ----------------------------------------------------------------- */

REDLOCKING_TEST(every_server_gets_the_same_token_of_128_bits)
{
    lk_hold *hold = locking_hold(redlocking_make(f, 5, NULL));
    char *first;

    redlocking_wait_planted(5, 5);
    first = redlocking_token(0);
    assert_int_equal(strlen(first), 32);
    assert_int_equal(strspn(first, "0123456789abcdef"), 32);
    for (size_t i = 1; i < 5; i++) {
        char *token = redlocking_token(i);

        assert_string_equal(token, first);
        free(token);
    }
    free(first);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(5, 0);
}

REDLOCKING_TEST(each_attempt_has_a_token_of_its_own)
{
    lk_redlock *lock = redlocking_make(f, 1, NULL);
    lk_hold *hold = locking_hold(lock);
    char *first = redlocking_token(0), *second;

    assert_status(lk_hold_release(hold), LK_OK);
    hold = locking_hold(lock);
    second = redlocking_token(0);
    assert_string_not_equal(first, second);
    free(first);
    free(second);
    assert_status(lk_hold_release(hold), LK_OK);
}

REDLOCKING_TEST(who_comes_second_is_told_who_keeps_it)
{
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    lk_redlock *other = redlocking_make(f, 3, NULL);
    lk_hold *hold = locking_hold(lock), *none = NULL;
    size_t busy = 0, pending = 0;

    redlocking_wait_planted(3, 3);
    assert_status(lk_redlock_acquire(other, 0, NULL, &none), LK_EBUSY);
    assert_null(none);
    assert_non_null(strstr(lk_last_error(), "0 of 3"));
    assert_non_null(strstr(lk_last_error(), "another's token"));
    for (size_t i = 0; i < 3; i++) { /* two are enough to know */
        busy += redlocking_answer(other, i) == LK_REDLOCK_BUSY;
        pending += redlocking_answer(other, i) == LK_REDLOCK_PENDING;
    }
    assert_in_range(busy, 2, 3);
    assert_int_equal(busy + pending, 3);
    assert_status(lk_redlock_acquire(other, wait_scaled_ms(300), NULL, &none),
                  LK_ETIMEDOUT);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_redlock_acquire(other, LK_FOREVER, NULL, &none), LK_OK);
    assert_status(lk_hold_release(none), LK_OK);
}

REDLOCKING_TEST(who_wins_a_minority_gives_it_back)
{
    lk_redlock *lock = redlocking_make(f, 5, NULL);
    lk_hold *hold = NULL;

    for (size_t i = 2; i < 5; i++)
        free(server_string(redlocking_servers[i], "SET n another's PX 60000"));
    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    redlocking_wait_planted(2, 0);
    for (size_t i = 2; i < 5; i++) {
        char *token = redlocking_token(i);

        assert_string_equal(token, "another's");
        free(token);
    }
}

REDLOCKING_TEST(a_minority_held_by_others_does_not_matter)
{
    lk_redlock *lock = redlocking_make(f, 5, NULL);
    lk_hold *hold;

    for (size_t i = 0; i < 2; i++)
        free(server_string(redlocking_servers[i], "SET n another's PX 60000"));
    hold = locking_hold(lock);
    redlocking_wait_planted(5, 5);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(5, 2);
}

REDLOCKING_TEST(a_plain_hold_has_no_fence_and_no_export)
{
    lk_hold *hold = locking_hold(redlocking_make(f, 3, NULL));
    char text[LK_EXPORT_SIZE];

    assert_int_equal(lk_hold_fence(hold), 0);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_ENOTSUP);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_NONE);
    assert_int_equal(lk_hold_lost_for_ms(hold), 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

static lk_status look(lk_hold *hold, void *data)
{
    *(bool *)data = lk_hold_check(hold) == LK_OK;
    return LK_EGONE;
}

REDLOCKING_TEST(a_function_runs_under_it)
{
    bool was_held = false;

    assert_status(lk_redlock_run(redlocking_make(f, 3, NULL), 0, NULL, look,
                                 &was_held),
                  LK_EGONE);
    assert_true(was_held);
    redlocking_wait_planted(3, 0);
}

/* The line of docs/redlock.md, for these names. */
REDLOCKING_TEST(the_rights_of_the_manual_are_enough)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "secret"};
    lk_client *client;
    lk_hold *hold;

    free(server_string(redlocking_servers[0],
                       "ACL SETUSER app on >secret ~n ~latchkey:* -@all "
                       "+@connection +get +set +del +pexpire +pttl +eval "
                       "+evalsha +info"));
    client = redlocking_open(f, 0, &options);
    hold = locking_hold(redlocking_make_of(f, &client, 1, NULL));
    assert_status(lk_hold_extend(hold, wait_lease_ms()), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(redlocking_planted(1), 0);
    assert_int_equal(server_integer(redlocking_servers[0], "ACL DELUSER app"),
                     1);
}

/* How often the server was sent DELIFEQ, denied ones included. */
static long long delifeqs(void)
{
    static const char *const fields[] = {"calls=", "rejected_calls="};
    char *stats = server_string(redlocking_servers[0], "INFO commandstats");
    const char *at = strstr(stats, "cmdstat_delifeq:");
    long long sum = 0;

    for (size_t i = 0; at != NULL && i < 2; i++) {
        at = strstr(at, fields[i]);
        assert_non_null(at);
        at += strlen(fields[i]);
        sum += strtoll(at, NULL, 10);
    }
    free(stats);
    return sum;
}

static bool has_delifeq(void)
{
    redisReply *reply =
        server_command(redlocking_servers[0], "COMMAND GETKEYS delifeq n t");
    bool has = reply->type != REDIS_REPLY_ERROR;

    freeReplyObject(reply);
    return has;
}

static void take_and_release(lk_redlock *lock, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        lk_hold *hold = locking_hold(lock);

        assert_int_equal(redlocking_planted(1), 1);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_int_equal(redlocking_planted(1), 0);
    }
}

/* A server that has it, and the script else. */
REDLOCKING_TEST(a_release_is_one_command_where_there_is_one)
{
    lk_redlock *lock = redlocking_make(f, 1, NULL);

    free(server_string(redlocking_servers[0], "CONFIG RESETSTAT"));
    take_and_release(lock, 3);
    assert_int_equal(delifeqs(), has_delifeq() ? 2 : 0);
}

static void a_user_with_rights(const char *more)
{
    free(server_string(redlocking_servers[0],
                       "ACL SETUSER app on >secret ~n ~latchkey:* -@all "
                       "+@connection +get +set +del +pexpire +pttl +eval "
                       "+evalsha +info %s",
                       more));
}

/* Without the right the script goes on, and what is denied is not tried. With it
   the command is, from the next connection on; until it is taken away. */
REDLOCKING_TEST(a_release_knows_whether_it_has_the_right)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "secret"};
    lk_client *client;
    lk_redlock *lock;

    if (!has_delifeq())
        skip();
    free(server_string(redlocking_servers[0], "CONFIG RESETSTAT"));
    free(server_string(redlocking_servers[0], "ACL LOG RESET"));
    a_user_with_rights("-delifeq");
    client = redlocking_open(f, 0, &options);
    take_and_release(redlocking_make_of(f, &client, 1, NULL), 3);
    assert_int_equal(delifeqs(), 0);
    a_user_with_rights("+delifeq");
    client = redlocking_open(f, 0, &options);
    lock = redlocking_make_of(f, &client, 1, NULL);
    take_and_release(lock, 3);
    assert_int_equal(delifeqs(), 2);
    a_user_with_rights("-delifeq");
    take_and_release(lock, 3);
    assert_int_equal(delifeqs(), 3);
    assert_int_equal(server_integer(redlocking_servers[0], "ACL DELUSER app"),
                     1);
}

/* ---- keeping it ------------------------------------------------------------------ */

REDLOCKING_TEST(the_validity_is_the_lease_less_the_drift)
{
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms =
                                            2 * (uint64_t)wait_lease_ms()};
    uint64_t most = options.lease_ms - options.lease_ms / 100 - 2;
    uint64_t begin = wait_now_ms(), took;
    lk_hold *hold = NULL;

    assert_status(lk_redlock_acquire(lock, 0, &options, &hold), LK_OK);
    took = wait_now_ms() - begin + 2;
    assert_in_range(lk_hold_remaining_ms(hold), most - took, most);
    assert_status(lk_hold_release(hold), LK_OK);
}

REDLOCKING_TEST(a_lease_of_the_callers_ends)
{
    lk_redlock_options short_ones = redlocking_options();
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = 300};
    lk_redlock *lock;
    lk_hold *hold = NULL;
    struct pollfd p = {.events = POLLIN};

    short_ones.node_timeout_ms = 250;
    lock = redlocking_make(f, 3, &short_ones);
    while (hold == NULL)
        if (lk_redlock_acquire(lock, 1000, &options, &hold) != LK_OK)
            hold = NULL;
    p.fd = lk_hold_fd(hold);
    assert_true(p.fd >= 0);
    assert_int_equal(poll(&p, 1, (int)wait_limit_ms(SOON_MS)), 1);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_string_equal(lk_last_error(), "its lease ended");
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_EXPIRED);
    assert_int_equal(lk_hold_remaining_ms(hold), 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_non_null(strstr(lk_last_error(), " ms ago"));
    assert_int_equal(fcntl(p.fd, F_GETFD), -1);
}

REDLOCKING_TEST(a_lease_of_the_locks_is_renewed)
{
    lk_redlock_options options = redlocking_options();
    lk_hold *hold;

    options.lease_ms = wait_lease_ms();
    options.node_timeout_ms = options.lease_ms / 2;
    hold = locking_hold(redlocking_make(f, 3, &options));
    redlocking_keep(hold, options.lease_ms + options.lease_ms / 4);
    assert_int_equal(redlocking_planted(3), 3);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(3, 0);
}

/* A server's answer may be late on a busy machine. */
static lk_redlock_options patient_options(void)
{
    lk_redlock_options options = redlocking_options();

    options.lease_ms = 60000;
    options.node_timeout_ms = 20000;
    return options;
}

REDLOCKING_TEST(an_extension_needs_most_servers_to_agree)
{
    lk_redlock_options options = patient_options();
    lk_redlock *lock;
    lk_hold *hold;

    options.longest_lease_ms = 600000;
    lock = redlocking_make(f, 3, &options);
    hold = locking_hold(lock);
    assert_status(lk_hold_extend(hold, 600001), LK_EINVAL);
    assert_status(lk_hold_extend(hold, 300000), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 290000, 297000);
    for (size_t i = 0; i < 3; i++)
        assert_in_range(server_integer(redlocking_servers[i], "PTTL n"), 1,
                        300000);
    assert_status(lk_hold_release(hold), LK_OK);
}

REDLOCKING_TEST(an_extension_never_plants_a_token_anew)
{
    const lk_redlock_options options = patient_options();
    lk_redlock *lock = redlocking_make(f, 3, &options);
    lk_hold *hold = locking_hold(lock);

    redlocking_wait_planted(3, 3);
    for (size_t i = 0; i < 2; i++)
        server_flush(redlocking_servers[i]);
    assert_status(lk_hold_extend(hold, options.lease_ms), LK_ELOST);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_int_equal(redlocking_planted(2), 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
    redlocking_wait_planted(3, 0);
}

/* ---- losing it --------------------------------------------------------------------- */

typedef struct told {
    _Atomic int notices, losses;
} told;

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    told *t = data;

    (void)hold;
    if (remaining_ms > 0)
        t->notices++;
    else
        t->losses++;
}

static bool is_told(told *t)
{
    return t->losses > 0;
}

REDLOCKING_TEST(the_holder_is_told_when_most_servers_forgot)
{
    lk_redlock_options options = redlocking_options();
    told t = {0};
    lk_hold *hold;

    options.lease_ms = wait_lease_ms();
    options.node_timeout_ms = options.lease_ms / 2;
    hold = locking_hold(redlocking_make(f, 3, &options));
    assert_status(lk_hold_on_lost(hold, 0, on_lost, &t), LK_OK);
    redlocking_wait_planted(3, 3);
    for (size_t i = 0; i < 3; i++)
        server_flush(redlocking_servers[i]);
    redlocking_wait_lost(hold);
    assert_soon(is_told(&t), SOON_MS);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_int_equal(t.losses, 1);
    assert_int_equal(t.notices, 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

REDLOCKING_TEST(the_notice_comes_before_the_loss)
{
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = wait_lease_ms()};
    told t = {0};
    lk_hold *hold = NULL;

    assert_status(lk_redlock_acquire(lock, 0, &options, &hold), LK_OK);
    assert_status(lk_hold_on_lost(hold, options.lease_ms / 2, on_lost, &t),
                  LK_OK);
    assert_soon(is_told(&t), 2 * SOON_MS);
    assert_int_equal(t.notices, 1);
    assert_int_equal(t.losses, 1);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

REDLOCKING_TEST(a_callback_set_after_the_loss_is_called)
{
    lk_hold *hold = locking_hold(redlocking_make(f, 1, NULL));
    told t = {0};

    server_flush(redlocking_servers[0]);
    assert_status(lk_hold_extend(hold, wait_lease_ms()), LK_ELOST);
    assert_status(lk_hold_on_lost(hold, 0, on_lost, &t), LK_OK);
    assert_soon(is_told(&t), SOON_MS);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

REDLOCKING_TEST(a_release_finds_out_that_it_was_lost)
{
    lk_hold *hold = locking_hold(redlocking_make(f, 3, NULL));

    redlocking_wait_planted(3, 3);
    for (size_t i = 0; i < 3; i++)
        free(server_string(redlocking_servers[i], "SET n thief"));
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    for (size_t i = 0; i < 3; i++) {
        char *token = redlocking_token(i);

        assert_string_equal(token, "thief");
        free(token);
    }
}

CHECK_GROUP(redlocking_start_servers, redlocking_stop_servers)
