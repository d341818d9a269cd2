/* SPDX-License-Identifier: MIT */

/*
 * `latchkey doctor --acl` for a Redis Cluster: what it prints is enough on each
 * node, also while a slot moves.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/ringed.h"
#include "support/tool.h"
#include "support/wait.h"

static char url[256];
static tool_how how = {.url = url};

/* What the tool prints, without the newline; what it calls not needed. */
static char rules[4096], helps[2048];

static void order_all(const char *text)
{
    for (size_t i = 0; i < ringed()->count; i++) {
        redisReply *reply = server_command(ringed()->nodes[i], text);

        if (reply->type == REDIS_REPLY_ERROR)
            fail_msg("%s: %s", text, reply->str);
        freeReplyObject(reply);
    }
}

static int start(void **state)
{
    char order[sizeof(rules) + 64];
    tool *t;

    if (ringed_start(state) != 0)
        return -1;
    (void)snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%u",
                   server_port(ringed()->nodes[0]));
    t = tool_start(&how, "doctor", "--acl", "--prefix", "app:", NULL);
    assert_int_equal(tool_wait(t, RINGED_LONG_MS), 0);
    (void)snprintf(rules, sizeof(rules), "%s", tool_out(t));
    rules[strcspn(rules, "\n")] = '\0';
    (void)snprintf(helps, sizeof(helps), "%s", tool_err(t));
    tool_free(t);
    (void)snprintf(order, sizeof(order), "ACL SETUSER app reset on >secret %s",
                   rules);
    order_all(order);
    return 0;
}

static int stop(void **state)
{
    tool_free_all();
    return ringed_stop(state);
}

static bool only_helps(const char *command)
{
    char said[64];

    (void)snprintf(said, sizeof(said), "not needed: +%s;", command);
    return strstr(helps, said) != NULL;
}

static void assert_helps(const redisReply *entry)
{
    const char *reason = entry->element[3]->str;
    const char *object = entry->element[7]->str;

    if (strcmp(reason, "command") != 0 || !only_helps(object))
        fail_msg("denied: %s %s", reason, object);
}

static void assert_nothing_was_denied(void)
{
    for (size_t i = 0; i < ringed()->count; i++) {
        redisReply *log = server_command(ringed()->nodes[i], "ACL LOG");

        assert_int_equal(log->type, REDIS_REPLY_ARRAY);
        for (size_t k = 0; k < log->elements; k++)
            assert_helps(log->element[k]);
        freeReplyObject(log);
    }
}

static lk_client *open_as_user(void)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "secret",
                                       .watchdog_ms = wait_lease_ms()};

    return ringed_open(&options);
}

static void the_rights_of_a_cluster_are_printed(void **state)
{
    (void)state;
    assert_non_null(strstr(rules, " +asking "));
    assert_non_null(strstr(rules, " +cluster|slots "));
    assert_tool(NULL, 0, NULL, NULL, "doctor", "--acl", NULL);
    {
        tool *t = tool_start(NULL, "doctor", "--acl", NULL);

        assert_int_equal(tool_wait(t, RINGED_LONG_MS), 0);
        assert_null(strstr(tool_out(t), "+asking"));
        tool_free(t);
    }
    assert_tool(&how, 0, "\"asking\",", "", "doctor", "--acl", "--json", NULL);
}

/* Holding, renewing, waiting and handing over, at each master, and in a slot that
   moves, half of it for a while. */
static void they_are_enough(void **state)
{
    lk_client *holder = open_as_user(), *waiter = open_as_user();

    (void)state;
    order_all("ACL LOG RESET");
    for (size_t i = 0; i < RINGED_MASTERS; i++) {
        char name[RINGED_NAME];
        lk_lock *held =
            ringed_lock(holder, ringed_name(name, "app:", ringed()->nodes[i]));
        lk_lock *wanted = ringed_lock(waiter, name);
        lk_hold *hold = ringed_hold(held);
        server *to = ringed_other(name);
        lk_info *info = NULL;
        call c = {0};

        ringed_take(&c, wanted);
        ringed_wait_line(ringed()->nodes[i], name, 1);
        assert_status(lk_lock_info(held, &info), LK_OK);
        assert_int_equal(info->waiter_count, 1);
        lk_info_free(info);
        cluster_move_begin(ringed(), ringed_slot(name), to);
        (void)cluster_move_keys(ringed(), ringed_slot(name), to, 1000);
        ringed_wait_renewals(holder, 3);
        cluster_move_end(ringed(), ringed_slot(name), to);
        ringed_wait_renewals(holder, 3);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(call_wait(&c, waiter), LK_OK);
        assert_status(lk_hold_release(c.hold), LK_OK);
        lk_lock_free(held);
        lk_lock_free(wanted);
        cluster_move(ringed(), ringed_slot(name), ringed()->nodes[i]);
    }
    lk_client_free(holder);
    lk_client_free(waiter);
    assert_nothing_was_denied();
}

static void the_doctor_misses_none_of_them(void **state)
{
    char as_user[300];
    tool_how user = {.url = as_user};
    tool *t;

    (void)state;
    (void)snprintf(as_user, sizeof(as_user),
                   "redis+cluster://app:secret@127.0.0.1:%u",
                   server_port(ringed()->nodes[1]));
    t = tool_start(&user, "doctor", "--quiet", "--watch", "0", NULL);
    assert_int_equal(tool_wait(t, RINGED_LONG_MS), 0);
    if (strstr(tool_out(t), "rights") != NULL)
        fail_msg("%s", tool_out(t));
    tool_free(t);
    order_all("ACL SETUSER app -asking");
    order_all("ACL SETUSER app -zadd");
    assert_tool(&user, 69, "+asking is denied", NULL, "doctor", "--quiet",
                "--watch", "0", NULL);
    assert_tool(&user, 0, "+asking is denied", NULL, "doctor", "--quiet",
                "--for", "cell", "--watch", "0", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rights_of_a_cluster_are_printed),
        cmocka_unit_test(they_are_enough),
        cmocka_unit_test(the_doctor_misses_none_of_them),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
