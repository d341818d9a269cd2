/* SPDX-License-Identifier: MIT */

/* The tool with a master that sentinels name. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/sentinels.h"
#include "support/socket.h"
#include "support/tool.h"

static sentinels *group;

static int start(void **state)
{
    (void)state;
    group = sentinels_start();
    return group != NULL ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    tool_free_all();
    sentinels_stop(group);
    return 0;
}

static void a_command_runs_under_a_lock_of_the_master(void **state)
{
    const tool_how how = {.url = group->url};

    (void)state;
    /* The sentinels may have named it for less than three seconds. */
    assert_tool(&how, 0, "held\n", NULL, "lock", "n", "--", "echo", "held",
                NULL);
    assert_int_equal(server_integer(group->servers[0], "EXISTS latchkey:{n}:r"),
                     1);
}

static void the_doctor_says_whom_the_sentinels_name(void **state)
{
    const tool_how how = {.url = group->url};
    char expected[128];

    (void)state;
    (void)snprintf(expected, sizeof(expected),
                   "ok      sentinel     all 3 sentinels name 127.0.0.1:%u as "
                   "the master",
                   server_port(group->servers[0]));
    assert_tool(&how, 0, expected, "", "doctor", "-w", "0", NULL);
}

static void the_doctor_says_what_an_old_master_would_do(void **state)
{
    const tool_how how = {.url = group->url};

    (void)state;
    assert_tool(&how, 0, "note    min-replicas after a failover the old master",
                "", "doctor", "-w", "0", NULL);
    freeReplyObject(server_command(group->servers[0],
                                   "CONFIG SET min-replicas-to-write 1"));
    assert_tool(&how, 0,
                "ok      min-replicas min-replicas-to-write 1: a "
                "master refuses writes",
                "", "doctor", "-w", "0", NULL);
    freeReplyObject(server_command(group->servers[0],
                                   "CONFIG SET min-replicas-to-write 0"));
}

static void the_doctor_says_how_many_do_not(void **state)
{
    char url[256], expected[128];
    const tool_how how = {.url = url};

    (void)state;
    (void)snprintf(url, sizeof(url),
                   "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u/m?failover=fast",
                   server_port(group->sentinels[0]), socket_free_port());
    (void)snprintf(expected, sizeof(expected),
                   "FAIL    sentinel     1 of 3 sentinels name 127.0.0.1:%u as "
                   "the master",
                   server_port(group->servers[0]));
    assert_tool(&how, 69, expected, "", "doctor", "-w", "0", NULL);
    assert_tool(&how, 69, "note    failover     around a failover two may hold",
                "", "doctor", "-w", "0", NULL);
}

static void the_url_is_shown_without_its_passwords(void **state)
{
    const tool_how how = {.url = "valkey+sentinel://u:p@h1,h2:2/m?"
                                 "sentinel_password=q"};

    (void)state;
    assert_tool(&how, 0,
                "redis+sentinel://u:***@h1:26379,h2:2/m/0?"
                "sentinel_password=***\n",
                "", "url", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_runs_under_a_lock_of_the_master),
        cmocka_unit_test(the_doctor_says_whom_the_sentinels_name),
        cmocka_unit_test(the_doctor_says_what_an_old_master_would_do),
        cmocka_unit_test(the_doctor_says_how_many_do_not),
        cmocka_unit_test(the_url_is_shown_without_its_passwords),
    };

    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    return cmocka_run_group_tests(tests, start, stop);
}
