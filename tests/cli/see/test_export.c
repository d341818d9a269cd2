/* SPDX-License-Identifier: MIT */

/* `latchkey metrics --listen`. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "support/odd.h"
#include "support/seeing.h"
#include "support/web.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

enum { LONG_MS = 20000 };

static void listen_with(seeing *f, const char *more)
{
    f->tool = tool_start(&f->how, "metrics", "--every", "100ms", "--listen",
                         "0", more, NULL);
    f->port = web_port(f->tool);
    web_wait(f->port, "/metrics", "\nlatchkey_up 1\n", LONG_MS);
}

static void it_ends(const seeing *f)
{
    assert_int_equal(kill(tool_pid(f->tool), SIGTERM), 0);
    assert_int_equal(tool_wait(f->tool, LONG_MS), 128 + SIGTERM);
    assert_string_equal(tool_err(f->tool), "");
}

static pid_t keep(const seeing *f, keeper_how how)
{
    how.url = server_url(f->server);
    return keeper_start(&how);
}

/* A holder and a waiter that are not there any more, and of whom the server does
   not know that yet. */
static void leave_two(const seeing *f)
{
    pid_t holder = keep(f, (keeper_how){.holds = "a"});
    pid_t waiter = keep(f, (keeper_how){.waits = "a"});

    web_wait(f->port, "/metrics", "latchkey_waiters{kind=\"lock\"} 1\n",
             LONG_MS);
    keeper_kill(waiter);
    keeper_kill(holder);
}

SEEING_TEST(holds_and_waits_that_end_are_counted)
{
    listen_with(f, NULL);
    web_wait(f->port, "/metrics",
             "latchkey_hold_seconds_count{kind=\"lock\"} 0", LONG_MS);
    leave_two(f);
    server_flush(f->server);
    web_wait(f->port, "/metrics",
             "latchkey_hold_seconds_bucket{kind=\"lock\",le=\"+Inf\"} 1\n",
             LONG_MS);
    web_wait(f->port, "/metrics",
             "latchkey_wait_seconds_bucket{kind=\"lock\",le=\"+Inf\"} 1\n",
             LONG_MS);
    web_wait(f->port, "/metrics",
             "\nlatchkey_hold_seconds_count{kind=\"rwlock\"} 0", LONG_MS);
    it_ends(f);
}

SEEING_TEST(an_outage_is_shown_and_counts_nothing_as_ended)
{
    listen_with(f, NULL);
    leave_two(f);
    server_kill(f->server);
    web_wait(f->port, "/metrics", "\nlatchkey_up 0\n", LONG_MS);
    web_wait(f->port, "/metrics", "latchkey_looks_total{result=\"failed\"} ",
             LONG_MS);
    assert_true(server_restart(f->server)); /* without what it had */
    web_wait(f->port, "/metrics", "\nlatchkey_up 1\n", LONG_MS);
    web_wait(f->port, "/metrics",
             "\nlatchkey_hold_seconds_count{kind=\"lock\"} 0", LONG_MS);
    web_wait(f->port, "/metrics",
             "\nlatchkey_wait_seconds_count{kind=\"lock\"} 0", LONG_MS);
    it_ends(f);
}

SEEING_TEST(it_begins_without_a_server)
{
    server_kill(f->server);
    f->tool = tool_start(&f->how, "metrics", "--every", "100ms", "--listen",
                         "127.0.0.1:0", NULL);
    f->port = web_port(f->tool);
    web_wait(f->port, "/metrics", "\nlatchkey_up 0\n", LONG_MS);
    assert_true(server_restart(f->server));
    web_wait(f->port, "/metrics", "\nlatchkey_up 1\n", LONG_MS);
    it_ends(f);
}

static void
assert_answer(const seeing *f, const char *request, const char *status)
{
    char *text = web_ask(f->port, request);

    assert_non_null(text);
    if (strncmp(text + strlen("HTTP/1.1 "), status, strlen(status)) != 0)
        fail_msg("%.40s: not %s", text, status);
    assert_null(strstr(text, "Access-Control-"));
    free(text);
}

SEEING_TEST(what_is_no_scrape_is_refused)
{
    listen_with(f, NULL);
    assert_answer(f,
                  "GET /metrics HTTP/1.1\r\nHost: [::1]:9\r\n"
                  "Connection: close\r\n\r\n",
                  "200");
    assert_answer(f,
                  "HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                  "Connection: close\r\n\r\n",
                  "200");
    assert_answer(f, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "404");
    assert_answer(f, "GET /metrics/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
                  "404");
    assert_answer(f,
                  "POST /metrics HTTP/1.1\r\nHost: localhost\r\n"
                  "Content-Length: 0\r\n\r\n",
                  "405");
    assert_answer(f, "DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
                  "405");
    assert_answer(f, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n",
                  "403");
    assert_answer(f,
                  "GET /metrics HTTP/1.1\r\nHost: localhost.evil.example"
                  "\r\n\r\n",
                  "403");
    assert_answer(f, "GET /metrics HTTP/1.0\r\n\r\n", "403");
    it_ends(f);
}

/* Each name comes once, whatever is in it. */
SEEING_TEST(hostile_names_are_series_of_their_own)
{
    char *text, *at;

    server_integer(f->server, "HSET %b " JAVA " 1", "a\x1b", (size_t)2);
    server_integer(f->server, "HSET %s " JAVA " 1", "a\\x1b");
    server_integer(f->server, "HSET %b " JAVA " 1", "b\"} 7\nlatchkey_up 0\n",
                   (size_t)20);
    listen_with(f, "--names");
    text = web_get(f->port, "/metrics");
    assert_non_null(text);
    at = strstr(text, "latchkey_name_waiters{name=\"a\\\\x1b\"} 0\n");
    assert_non_null(at);
    assert_null(strstr(at + 1, "latchkey_name_waiters{name=\"a\\\\x1b\"} "));
    assert_non_null(
        strstr(text, "latchkey_name_waiters{name=\"a\\\\\\\\x1b\"} 0\n"));
    assert_non_null(
        strstr(text, "{name=\"b\\\"} 7\\\\x0alatchkey_up 0\\\\x0a"));
    assert_null(strstr(text, "\nlatchkey_up 0"));
    free(text);
    it_ends(f);
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;

    while ((text = strstr(text, part)) != NULL) {
        text += strlen(part);
        count++;
    }
    return count;
}

/* Many names, and readers that do not read and do not ask. */
SEEING_TEST(many_names_and_slow_readers_hold_nobody_up)
{
    enum { SLOW = 8 };
    char *text;
    int slow[SLOW];

    freeReplyObject(
        server_command(f->server, "EVAL %s 0",
                       "for i=1,10000 do redis.call('HSET','name'..i,'" JAVA
                       "',1) end"));
    listen_with(f, "--names");
    for (int i = 0; i < SLOW; i++)
        slow[i] = web_send(f->port, i % 2 == 0 ? "GET /metrics HTTP/1.1\r\n"
                                                 "Host: localhost\r\n\r\n"
                                               : "GET /metr");
    web_wait(f->port, "/metrics", "latchkey_names{kind=\"lock\"} 10000\n",
             LONG_MS);
    server_integer(f->server, "HSET more " JAVA " 1");
    web_wait(f->port, "/metrics", "latchkey_names{kind=\"lock\"} 10001\n",
             LONG_MS);
    text = web_get(f->port, "/metrics");
    assert_non_null(text);
    assert_int_equal(occurrences(text, "\nlatchkey_name_waiters{"), 1000);
    free(text);
    for (int i = 0; i < SLOW; i++)
        (void)close(slow[i]);
    it_ends(f);
}

static size_t closed_count(const int *fds, size_t count)
{
    size_t closed = 0;
    char byte;

    for (size_t i = 0; i < count; i++)
        closed += recv(fds[i], &byte, 1, MSG_DONTWAIT) == 0;
    return closed;
}

/* Those who say nothing take up all there are; one more is answered when the
   server has closed what nothing moves on. */
SEEING_TEST(connections_are_bounded)
{
    enum { MOST = 32 };
    int fds[MOST];
    char *text;

    listen_with(f, NULL);
    for (int i = 0; i < MOST; i++)
        fds[i] = web_send(f->port, "GET");
    text = web_get(f->port, "/metrics");
    assert_non_null(text);
    assert_true(closed_count(fds, MOST) > 0);
    free(text);
    for (int i = 0; i < MOST; i++)
        (void)close(fds[i]);
    it_ends(f);
}

SEEING_TEST(what_does_not_go_together_is_refused)
{
    char taken[16];

    assert_tool(&f->how, 64, "", "[ADDR:]PORT", "metrics", "--listen", "here",
                NULL);
    assert_tool(&f->how, 64, "", "--json", "metrics", "--listen", "0", "--json",
                NULL);
    assert_tool(&f->how, 64, "", "--textfile", "metrics", "--listen", "0",
                "--textfile", "x", NULL);
    assert_tool(&f->how, 64, "", "--listen", "metrics", "--every", "1", NULL);
    assert_tool(&f->how, 64, "", "100 ms at least", "metrics", "--listen", "0",
                "--every", "1ms", NULL);
    listen_with(f, NULL);
    (void)snprintf(taken, sizeof(taken), "%u", f->port);
    assert_tool(&f->how, 78, "", "is taken by another program", "metrics",
                "--listen", taken, NULL);
    it_ends(f);
}

SEEING_TEST(odd_names_hide_no_other)
{
    odd_put(f->server);
    seeing_start(f, (keeper_how){.holds = "good"});
    seeing_start(f, (keeper_how){.waits = "good"});
    listen_with(f, "--names");
    web_wait(f->port, "/metrics", "\nlatchkey_name_waiters{name=\"good\"} 1\n",
             LONG_MS);
    web_wait(f->port, "/metrics",
             "\nlatchkey_name_waiters{name=\"layout\"} 1\n", LONG_MS);
    it_ends(f);
}
