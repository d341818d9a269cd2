/* SPDX-License-Identifier: MIT */

/* The commands that look, on a Redis Cluster of three masters. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/ringed.h"
#include "support/tool.h"

static char url[256];
static tool_how how = {.url = url};

/* A name that this process holds at each master. */
static lk_client *client;
static char names[RINGED_MASTERS][RINGED_NAME];
static lk_lock *locks[RINGED_MASTERS];
static lk_hold *holds[RINGED_MASTERS];

static int start(void **state)
{
    if (ringed_start(state) != 0)
        return -1;
    (void)snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%u",
                   server_port(ringed()->nodes[0]));
    client = ringed_open(NULL);
    for (size_t i = 0; i < RINGED_MASTERS; i++) {
        locks[i] =
            made_lock(client, ringed_name(names[i], "n", ringed()->nodes[i]));
        holds[i] = made_hold(locks[i]);
    }
    return 0;
}

static int stop(void **state)
{
    tool_free_all();
    for (size_t i = 0; i < RINGED_MASTERS; i++)
        (void)lk_hold_release(holds[i]);
    (void)made_end(state);
    return ringed_stop(state);
}

CHECK_TEST(names_of_all_masters_are_shown)
{
    const char *const commands[] = {"ls", "top"};

    for (size_t i = 0; i < 2; i++) {
        tool *t = tool_start(&how, commands[i], "n*", NULL);

        assert_int_equal(tool_wait(t, RINGED_LONG_MS), 0);
        for (size_t k = 0; k < RINGED_MASTERS; k++)
            assert_non_null(strstr(tool_out(t), names[k]));
        tool_free(t);
    }
    assert_tool(&how, 0,
                "\"truncated\":false,\"missing\":null,\"master\":null}", "",
                "ls", "--json", NULL);
    assert_tool(&how, 0, "latchkey_complete 1", "", "metrics", NULL);
    assert_tool(&how, 0, "latchkey_held{kind=\"lock\"} 3", "", "metrics", NULL);
    assert_tool(&how, 0, "", "nobody waits for anything", "why", NULL);
}

CHECK_TEST(one_name_is_shown_and_broken_where_it_is)
{
    const char *name = names[1];

    assert_tool(&how, 0, "1 holding", "", "who", name, NULL);
    cluster_move(ringed(), ringed_slot(name), ringed_other(name));
    assert_tool(&how, 0, "1 holding", "", "who", name, NULL);
    assert_tool(&how, 0, NULL, NULL, "break", "--yes", "--now", name, NULL);
    assert_tool(&how, 0, "free", "", "who", name, NULL);
    assert_tool(&how, 0, name, "", "log", NULL);
    assert_tool(&how, 0, name, "", "log", name, NULL);
    assert_tool(&how, 0, NULL, NULL, "forget", name, NULL);
    assert_tool(&how, 75, "", "nothing is known", "who", name, NULL);
}

/* By the URL of one node. */
CHECK_TEST(who_sees_one_node_alone_is_told_so)
{
    const tool_how alone = {.url = server_url(ringed()->nodes[0])};
    static const char more[] = "redis+cluster://";

    assert_tool(&alone, 69, names[0], more, "ls", NULL);
    assert_tool(&alone, 69, names[0], more, "ls", "--json", NULL);
    assert_tool(&alone, 69, "", more, "who", names[2], NULL);
}

CHECK_TEST(the_doctor_looks_at_each_master)
{
    char address[64];

    (void)snprintf(address, sizeof(address), "127.0.0.1:%u: maxmemory-policy",
                   server_port(ringed()->nodes[1]));
    assert_tool(&how, 0, "3 masters, and all answer", "", "doctor", "--watch",
                "0", NULL);
    assert_tool(&how, 0, "each master: 16384 slots are served", "", "doctor",
                "--watch", "0", NULL);
    free(server_string(ringed()->nodes[1],
                       "CONFIG SET maxmemory-policy allkeys-lru"));
    assert_tool(&how, 0, address, "", "doctor", "--watch", "0", NULL);
    free(server_string(ringed()->nodes[1],
                       "CONFIG SET maxmemory-policy noeviction"));
}

/* Its replica is gone as well, and nobody takes its place. */
CHECK_TEST(what_is_not_there_is_said)
{
    server *lost = ringed()->nodes[2];
    char address[32];

    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", server_port(lost));
    for (size_t i = 0; i < ringed()->count; i++) {
        if (i >= RINGED_MASTERS)
            server_kill(ringed()->nodes[i]);
        else
            free(server_string(ringed()->nodes[i],
                               "CONFIG SET cluster-require-full-coverage no"));
    }
    server_kill(lost);
    assert_tool(&how, 69, names[0], address, "ls", NULL);
    assert_tool(&how, 69, names[0], address, "top", NULL);
    assert_tool(&how, 69, address, address, "ls", "--json", NULL);
    assert_tool(&how, 69, NULL, address, "log", NULL);
    assert_tool(&how, 69, "2 masters answer; not looked at: ", "", "doctor",
                "--watch", "0", NULL);
    assert_tool(&how, 0, "latchkey_complete 0", address, "metrics", NULL);
}

CHECK_GROUP(start, stop)
