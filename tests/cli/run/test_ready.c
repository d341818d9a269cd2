/* SPDX-License-Identifier: MIT */

/* How others are told that a leader leads: a file, a port, systemd. */

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/check.h"
#include "support/scratch.h"
#include "support/tooling.h"
#include "support/web.h"

enum { SOON_MS = 15000, LINE = 256 };

static scratch *folder;
static char file[LINE], notifies[LINE];

static int folder_make(NO_STATE)
{
    folder = scratch_new();
    assert_non_null(folder);
    (void)snprintf(file, LINE, "%s/leads", scratch_path(folder));
    (void)snprintf(notifies, LINE, "NOTIFY_SOCKET=%s/s", scratch_path(folder));
    return 0;
}

static int folder_end(void **state)
{
    int code = tooling_teardown(state);

    scratch_free(folder);
    return code;
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, folder_make, folder_end)

static tool *leader(const tool_how *with, const char *option, const char *value)
{
    tool *t = tool_start(with, "leader", option, value, "e", "--", "sh", "-c",
                         "echo \"$LATCHKEY_FENCE\"; exec sleep 100", NULL);

    tool_wait_out(t, "\n", SOON_MS);
    return t;
}

TEST(the_file_has_the_term_while_it_leads)
{
    char text[LINE] = "";
    tool *t = leader(&how, "--ready-file", file);
    FILE *from = fopen(file, "re");

    assert_non_null(from);
    assert_non_null(fgets(text, LINE, from));
    (void)fclose(from);
    assert_string_equal(text, tool_out(t));
    (void)kill(tool_pid(t), SIGTERM);
    assert_int_equal(tool_wait(t, SOON_MS), 128 + SIGTERM);
    assert_int_equal(access(file, F_OK), -1);
}

/* Its process was killed, which takes nothing back. */
TEST(a_file_of_before_is_gone_while_it_waits)
{
    tool *t = leader(&how, "-q", "--");
    tool *waiter;

    assert_int_equal(close(creat(file, 0600)), 0);
    waiter = tool_start(&how, "leader", "--ready-file", file, "e", "--", "true",
                        NULL);
    tool_wait_err(waiter, "waiting for e: ", SOON_MS);
    assert_int_equal(access(file, F_OK), -1);
    tool_free(t);
}

TEST(the_file_goes_before_the_command_of_a_lost_lead)
{
    char line[2 * LINE];
    tool *t;

    (void)snprintf(line, sizeof(line),
                   "trap '[ -e %s ] || echo gone; exit' TERM; echo in; "
                   "while :; do sleep 0.05; done",
                   file);
    t = tool_start(&how, "leader", "--ready-file", file, "e", "-c", line, NULL);
    tool_wait_out(t, "in\n", SOON_MS);
    assert_tool(&how, 0, NULL, NULL, "break", "--yes", "e", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_string_equal(tool_out(t), "in\ngone\n");
}

TEST(a_file_that_cannot_be_written_is_78_before_the_command)
{
    assert_tool(&how, 78, "", "/nonexistent/f: No such file", "leader",
                "--ready-file", "/nonexistent/f", "e", "--", "echo", "ran",
                NULL);
    assert_int_equal(server_integer(redis, "EXISTS e"), 0);
}

/* A port that was free a moment ago. */
static uint16_t free_port(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof(at);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    (void)close(fd);
    return ntohs(at.sin_port);
}

TEST(the_port_says_200_while_it_leads_and_503_before)
{
    char first[16], second[16];
    const uint16_t ports[2] = {free_port(), free_port()};
    tool *t, *waiter;

    (void)snprintf(first, sizeof(first), "%u", ports[0]);
    (void)snprintf(second, sizeof(second), "%u", ports[1]);
    t = leader(&how, "--health", first);
    web_wait(ports[0], "/", "HTTP/1.1 200 ", SOON_MS);
    waiter = tool_start(&how, "leader", "--health", second, "e", "--", "sleep",
                        "100", NULL);
    tool_wait_err(waiter, "waiting for e: ", SOON_MS);
    web_wait(ports[1], "/", "HTTP/1.1 503 ", SOON_MS);
    (void)kill(tool_pid(t), SIGTERM);
    web_wait(ports[1], "/", "HTTP/1.1 200 ", SOON_MS);
    tool_free(waiter);
    assert_tool(&how, 64, "", "--health has to be [ADDR:]PORT", "leader",
                "--health", "x", "e", "--", "true", NULL);
}

static void assert_notified(int fd, const char *expected)
{
    char text[LINE];
    const ssize_t size = recv(fd, text, LINE - 1, 0);

    assert_true(size > 0);
    text[size] = '\0';
    if (strncmp(text, expected, strlen(expected)) != 0)
        fail_msg("'%s' is not '%s'", text, expected);
}

TEST(systemd_is_told_in_this_order)
{
    const char *const env[] = {notifies, NULL};
    const tool_how told = {.url = how.url, .env = env};
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s",
                   strchr(notifies, '=') + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_tool(&told, 0, "", "", "leader", "e", "--", "true", NULL);
    assert_notified(fd, "STATUS=waits for the lead of e");
    assert_notified(fd, "READY=1\nSTATUS=leads e, term ");
    assert_notified(fd, "STOPPING=1\n");
    assert_tool(&told, 0, "", "", "lock", "e", "--", "true", NULL);
    assert_int_equal(recv(fd, &at, sizeof(at), MSG_DONTWAIT), -1);
    (void)close(fd);
}

CHECK_GROUP(tooling_start, tooling_stop)
