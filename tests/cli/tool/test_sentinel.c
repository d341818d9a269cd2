/* SPDX-License-Identifier: MIT */

/* The tool with a master that sentinels name. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/sentinels.h"
#include "support/socket.h"
#include "support/tool.h"

enum { LONG_MS = 60000 };

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

/* ---- the commands that look ------------------------------------------------------- */

/* The line, or the JSON, that names this server as the master. How many do is told
   as far as it is known by then: most of them. */
static const char *place_words(char words[128], const server *master)
{
    (void)snprintf(words, 128, "master m at 127.0.0.1:%u, named by ",
                   server_port(master));
    return words;
}

static const char *place_json(char words[192], const server *master)
{
    (void)snprintf(words, 192,
                   "\"master\":{\"name\":\"m\",\"address\":\"127.0.0.1:%u\","
                   "\"sentinels\":3,\"answering\":",
                   server_port(master));
    return words;
}

/* Holds "n", and what it is run with ends it. */
static tool *hold_name(const tool_how *how)
{
    tool *t = tool_start(how, "lock", "n", "--", "sh", "-c",
                         "echo held; exec sleep 1000", NULL);

    tool_wait_out(t, "held", LONG_MS);
    return t;
}

static void each_look_says_where_the_master_is(void **state)
{
    const tool_how how = {.url = group->url};
    char words[128], json[192], foot[160];
    tool *holder = hold_name(&how);

    (void)state;
    (void)place_words(words, group->servers[0]);
    (void)place_json(json, group->servers[0]);
    (void)snprintf(foot, sizeof(foot), "program latchkey\n  %s", words);
    assert_tool(&how, 0, words, "", "ls", NULL);
    assert_tool(&how, 0, words, "", "top", NULL);
    assert_tool(&how, 0, foot, "", "who", "n", NULL);
    assert_tool(&how, 0, json, "", "ls", "--json", NULL);
    assert_tool(&how, 0, json, "", "top", "--json", NULL);
    assert_tool(&how, 0, json, "", "who", "n", "--json", NULL);
    assert_int_equal(kill(tool_pid(holder), SIGTERM), 0);
    (void)tool_wait(holder, LONG_MS);
    tool_free(holder);
}

static void a_list_without_a_headline_has_names_alone(void **state)
{
    const tool_how how = {.url = group->url};
    tool *t = tool_start(&how, "ls", "--idle", "--no-header", NULL);

    (void)state;
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    assert_non_null(strstr(tool_out(t), "n "));
    assert_null(strstr(tool_out(t), "master"));
    tool_free(t);
}

/* Where one sentinel is enough, how many of them say so is told as well. */
static void it_says_how_few_name_it(void **state)
{
    char url[256], expected[128];
    const tool_how how = {.url = url};

    (void)state;
    (void)snprintf(url, sizeof(url),
                   "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u/m?failover=fast",
                   server_port(group->sentinels[0]), socket_free_port());
    (void)snprintf(expected, sizeof(expected),
                   "master m at 127.0.0.1:%u, named by 1 of ",
                   server_port(group->servers[0]));
    assert_tool(&how, 0, expected, "", "ls", NULL);
}

static void after_a_failover_it_is_the_next_one(void **state)
{
    const tool_how how = {.url = group->url};
    const tool_how live = {.url = group->url, .has_terminal = true};
    tool *top = tool_start(&live, "top", "--every", "200ms", NULL);
    char words[128], all[192];
    server *next;

    (void)state;
    tool_wait_out(top, place_words(words, group->servers[0]), LONG_MS);
    next = sentinels_failover(group);
    sentinels_wait_other(group, group->servers[0]);
    (void)snprintf(all, sizeof(all), "%s3 of 3 sentinels",
                   place_words(words, next));
    tool_wait_out(top, all, LONG_MS);
    tool_type(top, "q");
    assert_int_equal(tool_wait(top, LONG_MS), 0);
    tool_free(top);

    assert_tool(&how, 0, place_words(words, next), "", "ls", "--idle", NULL);
    assert_tool(&how, 0, place_words(words, next), "", "who", "n", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_runs_under_a_lock_of_the_master),
        cmocka_unit_test(the_doctor_says_whom_the_sentinels_name),
        cmocka_unit_test(the_doctor_says_what_an_old_master_would_do),
        cmocka_unit_test(the_doctor_says_how_many_do_not),
        cmocka_unit_test(the_url_is_shown_without_its_passwords),
        cmocka_unit_test(each_look_says_where_the_master_is),
        cmocka_unit_test(a_list_without_a_headline_has_names_alone),
        cmocka_unit_test(it_says_how_few_name_it),
        cmocka_unit_test(after_a_failover_it_is_the_next_one),
    };

    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    return cmocka_run_group_tests(tests, start, stop);
}
