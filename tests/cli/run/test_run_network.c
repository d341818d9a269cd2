/* SPDX-License-Identifier: MIT */

/* A network that fails, and many tools at once. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/proxy.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 20000, WORKERS = 5, TURNS = 6, DEATHS = 2 };

static proxy *network;
static char folder[64];
static unsigned lease_ms;
static char lease[32];

static int start(void **state)
{
    if (tooling_start(state) != 0)
        return -1;
    lease_ms = tool_lease_ms(&how);
    (void)snprintf(lease, sizeof(lease), "--lease=%ums", lease_ms);
    (void)snprintf(folder, sizeof(folder), "/tmp/lk-run-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int end(void **state)
{
    (void)tool_code(&(tool_how){.program = "rm"}, "-r", folder, NULL);
    return tooling_stop(state);
}

static int begin(NO_STATE)
{
    network = proxy_start(server_socket(redis));
    return network != NULL ? 0 : -1;
}

static int forget(void **state)
{
    tool_free_all();
    proxy_stop(network);
    return tooling_teardown(state);
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, begin, forget)

/* Each time the lease begins again as soon as there is a connection. */
TEST(connections_that_break_do_not_disturb_the_command)
{
    const tool_how far = {.url = proxy_url(network)};
    unsigned longer_ms = 2 * lease_ms;
    char longer[32];
    tool *t;

    (void)snprintf(longer, sizeof(longer), "--lease=%ums", longer_ms);
    t = tool_start(&far, "lock", longer, "n", "-c",
                   "echo child=$$; trap 'exit 3' USR1; "
                   "while :; do sleep 0.05; done",
                   NULL);
    (void)tool_wait_number(t, "child", SOON_MS);
    for (int i = 0; i < 5; i++) {
        int before = proxy_accepted(network);

        proxy_reset(network, PROXY_ALL);
        assert_true(proxy_wait_accepted(network, before + 2, SOON_MS));
        assert_soon(server_integer(redis, "PTTL n") > longer_ms * 9 / 10,
                    SOON_MS);
    }
    assert_int_equal(kill(tool_pid(t), SIGUSR1), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 3);
    assert_null(strstr(tool_err(t), "lost"));
}

TEST(a_release_without_an_answer_keeps_the_code)
{
    char url[160];
    const tool_how far = {.url = url};
    tool *t;

    (void)snprintf(url, sizeof(url), "%s?command_timeout_ms=300ms",
                   proxy_url(network));
    t = tool_start(&far, "lock", "n", "-c",
                   "echo child=$$; trap 'exit 3' USR1; "
                   "while :; do sleep 0.05; done",
                   NULL);
    (void)tool_wait_number(t, "child", SOON_MS);
    proxy_hold(network, PROXY_ALL, PROXY_REPLIES);
    assert_int_equal(kill(tool_pid(t), SIGUSR1), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 3);
    tool_wait_err(t, "the release of 'n' is not confirmed: ", SOON_MS);
    assert_null(strstr(tool_err(t), "background")); /* nobody is left there */
}

TEST(a_server_that_forgets_ends_the_command)
{
    tool *t = tool_start(&how, "lock", lease, "n", "-c",
                         "echo child=$$; exec sleep 100", NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);

    assert_true(server_restart(redis));
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_false(tool_runs(child));
}

/* Reads a number, and writes one more: nothing is lost if nobody does it at
   the same time. */
TEST(many_tools_count_without_a_mistake)
{
    const tool_how shell = {.url = server_url(redis), .program = "sh"};
    tool *tools[WORKERS];
    char line[512];

    (void)snprintf(line, sizeof(line),
                   "i=0; while [ $i -lt %d ]; do i=$((i+1)); " LK_TOOL
                   " -q lock n -c 'read n <%s/n; echo $((n+1)) >%s/n' || exit; "
                   "done",
                   TURNS, folder, folder);
    assert_tool(&(tool_how){.program = "sh"}, 0, "", "", "-c", "echo 0 >$0/n",
                folder, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        tools[i] = tool_start(&shell, "-c", line, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(tool_wait(tools[i], SOON_MS), 0);
    (void)snprintf(line, sizeof(line), "%d\n", WORKERS * TURNS);
    assert_tool(&(tool_how){.program = "sh"}, 0, line, "", "-c", "cat $0/n",
                folder, NULL);
}

/* Each that comes looks whether the one before is dead, and is killed, or its
   tool is. */
TEST(nobody_comes_while_the_one_before_lives)
{
    static const char program[] =
        "trap '' TERM INT HUP; "
        "if [ -e who ] && read -r was <who && "
        "read -r pid name state rest </proc/$was/stat && [ $state != Z ]; "
        "then echo alive=$was; fi 2>&-; "
        "echo $$ >who; echo child=$$; exec sleep 100";
    char line[512];
    tool *tools[DEATHS + 1];

    (void)snprintf(line, sizeof(line), "cd %s; %s", folder, program);
    for (size_t i = 0; i <= DEATHS; i++)
        tools[i] = tool_start(&how, "-q", "lock", lease, "--fair", "n", "-c",
                              line, NULL);
    for (size_t killed = 0; killed <= DEATHS;) {
        for (size_t i = 0; i <= DEATHS; i++) {
            if (tools[i] == NULL ||
                strstr(tool_out(tools[i]), "child=") == NULL)
                continue;
            assert_null(strstr(tool_out(tools[i]), "alive"));
            assert_int_equal(kill(tool_pid(tools[i]),
                                  killed % 2 == 0 ? SIGKILL : SIGSTOP),
                             0);
            tools[i] = NULL;
            killed++;
        }
    }
}

CHECK_GROUP(start, end)
