/* SPDX-License-Identifier: MIT */

/* `latchkey serve`, but for what a browser makes of its page: that is in
   tests/browser. */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "support/odd.h"
#include "support/seeing.h"
#include "support/wait.h"
#include "support/web.h"

#define JAVA   "01234567-89ab-cdef-0123-456789abcdef:71"
#define EVENTS "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"

#define PAGE "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

/* The last: so long a reader may keep a place, and a little more. */
enum { LONG_MS = 20000, STREAMS = 12, CONNECTIONS = 32, GONE_MS = 11000 };

static void serve(seeing *f)
{
    f->tool =
        tool_start(&f->how, "serve", "--every", "100ms", "--listen", "0", NULL);
    f->port = web_port(f->tool);
}

static void it_ends(const seeing *f)
{
    assert_int_equal(kill(tool_pid(f->tool), SIGTERM), 0);
    assert_int_equal(tool_wait(f->tool, LONG_MS), 128 + SIGTERM);
    assert_string_equal(tool_err(f->tool), "");
}

SEEING_TEST(a_port_that_is_taken_is_said_to_be)
{
    char port[16];

    serve(f);
    (void)snprintf(port, sizeof(port), "%u", (unsigned)f->port);
    assert_tool(&f->how, 78, "", " of 127.0.0.1 is taken by another program",
                "serve", "--listen", port, NULL);
    assert_tool(&f->how, 78, "", "with --listen; port 0 is a free one",
                "metrics", "--listen", port, NULL);
    it_ends(f);
}

static pid_t keep(const seeing *f, keeper_how how)
{
    how.url = server_url(f->server);
    return keeper_start(&how);
}

/* Waits until a new stream has had text. */
static void wait_event(const seeing *f, const char *text)
{
    int fd = web_send(f->port, EVENTS);

    web_wait_read(fd, text, LONG_MS);
    (void)close(fd);
}

/* ---- the page ------------------------------------------------------------------ */

/* The word behind a text, 32 hexadecimal digits. */
static void nonce_read(const char *page, const char *before, char nonce[33])
{
    const char *at = strstr(page, before);

    assert_non_null(at);
    at += strlen(before);
    assert_int_equal(strspn(at, "0123456789abcdef"), 32);
    (void)snprintf(nonce, 33, "%.32s", at);
}

/* What a policy allows is one word, new each time, and nothing is fetched from
   anywhere. */
SEEING_TEST(the_page_is_all_there_is)
{
    static const char *const never[] = {"src=",  "href=",     "@import",
                                        "url(h", "innerHTML", " onclick",
                                        "eval(", "@NONCE@"};
    char said[33], style[33], script[33], again[33], *text;

    serve(f);
    text = web_get(f->port, "/");
    assert_non_null(text);
    assert_non_null(strstr(text, "HTTP/1.1 200"));
    assert_non_null(strstr(text, "Content-Type: text/html; charset=utf-8\r\n"));
    assert_non_null(strstr(text, "Content-Security-Policy: default-src 'none'; "
                                 "script-src 'nonce-"));
    assert_non_null(strstr(text, "X-Frame-Options: DENY\r\n"));
    assert_non_null(strstr(text, "Cache-Control: no-store\r\n"));
    nonce_read(text, "script-src 'nonce-", said);
    nonce_read(text, "<style nonce=\"", style);
    nonce_read(text, "<script nonce=\"", script);
    assert_string_equal(said, style);
    assert_string_equal(said, script);
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
        if (strstr(text, never[i]) != NULL)
            fail_msg("the page has %s", never[i]);
    }
    free(text);
    text = web_get(f->port, "/");
    assert_non_null(text);
    nonce_read(text, "script-src 'nonce-", again);
    assert_string_not_equal(said, again);
    free(text);
    it_ends(f);
}

/* line and more: a request without its end. */
static void assert_answer(const seeing *f, const char *line, const char *more,
                          const char *status)
{
    char request[256], *text;
    int fd;

    (void)snprintf(request, sizeof(request),
                   "%s HTTP/1.1\r\n%sConnection: close\r\n\r\n", line, more);
    fd = web_send(f->port, request);
    text = web_read(fd, "\r\n\r\n", LONG_MS);
    (void)close(fd);
    if (strncmp(text + strlen("HTTP/1.1 "), status, strlen(status)) != 0)
        fail_msg("%.40s: not %s, to %s", text, status, request);
    assert_null(strstr(text, "Access-Control-"));
    free(text);
}

/* A page elsewhere can neither read anything, nor take the streams away. */
SEEING_TEST(others_are_refused)
{
    static const char here[] = "Host: localhost\r\n";
    static const char there[] = "Host: evil.example\r\n";
    static const char site[] =
        "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n";

    serve(f);
    assert_answer(f, "GET /", there, "403");
    assert_answer(f, "GET /events", there, "403");
    /* Without a Host it is 403, or what the library says of HTTP/1.1 itself: 400. */
    assert_answer(f, "GET /events", "", "40");
    assert_answer(f, "POST /", here, "405");
    assert_answer(f, "DELETE /events", here, "405");
    assert_answer(f, "GET /metrics", here, "404");
    assert_answer(f, "GET /events", site, "403");
    assert_answer(f, "GET /events",
                  "Host: localhost\r\nSec-Fetch-Site: same-site\r\n", "403");
    assert_answer(f, "GET /", site, "200"); /* a link on a page elsewhere */
    assert_answer(f, "HEAD /", here, "200");
    wait_event(f, "\"trouble\":null");
    it_ends(f);
}

/* ---- what it tells --------------------------------------------------------------- */

SEEING_TEST(holds_and_waits_come_and_go)
{
    pid_t holder, waiter;
    int fd;

    serve(f);
    fd = web_send(f->port, EVENTS);
    web_wait_read(fd, "\"names\":[],\"trouble\":null}\n\n", LONG_MS);
    holder = keep(f, (keeper_how){.holds = "a", .reason = "deploy 4.2"});
    web_wait_read(fd, "\"name\":\"a\",\"kind\":\"lock\"", LONG_MS);
    web_wait_read(fd, "\"reason\":\"deploy 4.2\"", LONG_MS);
    waiter = keep(f, (keeper_how){.waits = "a"});
    web_wait_read(fd, "\"waiters\":[{\"position\":1,", LONG_MS);
    keeper_kill(waiter);
    keeper_kill(holder);
    server_flush(f->server);
    web_wait_read(fd, "\"names\":[],\"trouble\":null}\n\n", LONG_MS);
    (void)close(fd);
    it_ends(f);
}

SEEING_TEST(changes_of_holders_are_counted)
{
    server_integer(f->server, "HSET a " JAVA " 1");
    serve(f);
    wait_event(f, "\"changes\":0,");
    server_integer(f->server, "DEL a");
    server_integer(f->server, "HSET a " JAVA "2 1");
    wait_event(f, "\"changes\":1,");
    server_integer(f->server, "HSET b " JAVA "2 1");
    wait_event(f, "\"changes\":2,");
    it_ends(f);
}

/* Each holds what the other one waits for, and goes on doing so. */
SEEING_TEST(a_circle_is_told)
{
    serve(f);
    (void)keep(f, (keeper_how){.holds = "a", .waits = "b"});
    (void)keep(f, (keeper_how){.holds = "b", .waits = "a"});
    wait_event(f, "\"stuck\":true");
    it_ends(f);
}

SEEING_TEST(an_outage_is_told_and_ends)
{
    server_kill(f->server);
    serve(f);
    wait_event(f, "\"trouble\":\"");
    assert_true(server_restart(f->server));
    wait_event(f, "\"trouble\":null");
    server_kill(f->server);
    wait_event(f, "\"trouble\":\"");
    assert_true(server_restart(f->server));
    wait_event(f, "\"trouble\":null");
    it_ends(f);
}

/* A name is one string of the event, and ends neither it nor the event. */
SEEING_TEST(hostile_names_stay_strings)
{
    /* NOLINTNEXTLINE(misc-misleading-bidirectional) */
    static const char turned[] = "\xe2\x80\xae";
    char hostile[128];

    (void)snprintf(hostile, sizeof(hostile), "%s%s\xff",
                   "\"}]}\n\ndata: {\"trouble\":\"x\"}\n\n</script>", turned);
    server_integer(f->server, "HSET %b " JAVA " 1", hostile, strlen(hostile));
    serve(f);
    wait_event(f, "\"name\":\"\\\"}]}\\n\\ndata: {\\\"trouble\\\":\\\"x\\\"}"
                  "\\n\\n</script>\\u202e\\ufffd\",\"kind\":\"lock\"");
    it_ends(f);
}

/* The row of a name in an event; the test fails if it has none. Returns where its
   reason stands, or null. */
static const char *unread_of(const char *event, const char *name)
{
    char begin[128];
    const char *row;

    (void)snprintf(begin, sizeof(begin), "{\"name\":\"%s\",\"kind\":", name);
    row = strstr(event, begin);
    assert_non_null(row);
    row = strstr(row, "\"unread\":");
    assert_non_null(row);
    return row + strlen("\"unread\":");
}

SEEING_TEST(odd_names_hide_no_other)
{
    char *event;

    odd_put(f->server);
    seeing_start(f, (keeper_how){.holds = "good"});
    seeing_start(f, (keeper_how){.waits = "good"});
    serve(f);
    wait_event(f, "\"waiters\":[{\"position\":1,");
    event = web_event(f->port);
    assert_non_null(strstr(event, "\"trouble\":null"));
    assert_int_equal(strncmp(unread_of(event, "good"), "null,", 5), 0);
    for (const odd *one = odd_names; one->name != NULL; one++) {
        const char *unread = unread_of(event, one->name);

        if (unread[0] != '"' || !odd_is_told(one, unread + 1))
            fail_msg("%s: not %s: %.90s", one->name, one->reason, unread);
    }
    free(event);
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

SEEING_TEST(many_names_are_cut_and_counted)
{
    char *event;

    freeReplyObject(
        server_command(f->server, "EVAL %s 0",
                       "for i=1,20001 do redis.call('HSET','name'..i,'" JAVA
                       "',1) end"));
    serve(f);
    wait_event(f, "\"all\":{\"names\":20000,");
    event = web_event(f->port);
    assert_non_null(strstr(event, "\"truncated\":true"));
    assert_int_equal(occurrences(event, "\"name\":"), 250);
    free(event);
    it_ends(f);
}

/* ---- many that look ---------------------------------------------------------------- */

static bool is_answered(const seeing *f)
{
    int fd = web_send(f->port, EVENTS);
    char line[16] = "";
    ssize_t got = read(fd, line, sizeof(line) - 1);

    (void)close(fd);
    return got > 12 && strncmp(line, "HTTP/1.1 200", 12) == 0;
}

/* One more than there may be is refused, until one of them goes; none of them
   reads. */
SEEING_TEST(streams_are_bounded)
{
    int fds[STREAMS];

    serve(f);
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = web_send(f->port, EVENTS);
        web_wait_read(fds[i], "\"trouble\":null", LONG_MS);
    }
    assert_answer(f, "GET /events", "Host: localhost\r\n", "503");
    web_wait(f->port, "/", "<title>Latchkey</title>", LONG_MS);
    (void)close(fds[0]);
    assert_soon(is_answered(f), LONG_MS);
    for (int i = 1; i < STREAMS; i++)
        (void)close(fds[i]);
    it_ends(f);
}

/* Nothing is published meanwhile. */
SEEING_TEST(readers_that_are_gone_leave_their_places)
{
    f->tool =
        tool_start(&f->how, "serve", "--every", "1h", "--listen", "0", NULL);
    f->port = web_port(f->tool);
    for (int i = 0; i < STREAMS; i++)
        wait_event(f, "\"trouble\":null");
    assert_answer(f, "GET /events", "Host: localhost\r\n", "503");
    assert_soon(is_answered(f), GONE_MS);
    it_ends(f);
}

/* A comment says that the reader is not forgotten. */
SEEING_TEST(readers_that_stay_hear_of_it)
{
    int fd;

    f->tool =
        tool_start(&f->how, "serve", "--every", "1h", "--listen", "0", NULL);
    f->port = web_port(f->tool);
    fd = web_send(f->port, EVENTS);
    web_wait_read(fd, "\"trouble\":null", LONG_MS);
    for (int i = 0; i < 2; i++)
        web_wait_read(fd, ":\n\n", LONG_MS);
    (void)close(fd);
    it_ends(f);
}

/* Another line of each head; a connection that was cut does not take it. */
static void lines_send(const int fds[CONNECTIONS])
{
    static const char line[] = "X-More: 1\r\n";

    for (int i = 0; i < CONNECTIONS; i++)
        (void)send(fds[i], line, sizeof(line) - 1, MSG_NOSIGNAL);
}

/* All connections that there may be send a line of their heads each second, and one
   more client is answered. */
SEEING_TEST(heads_that_come_slowly_keep_nobody_out)
{
    int fds[CONNECTIONS];
    struct pollfd other;
    int seconds = (int)wait_scaled_ms(GONE_MS) / 1000;
    char *text;

    serve(f);
    for (int i = 0; i < CONNECTIONS; i++)
        fds[i] = web_send(f->port, "GET / HTTP/1.1\r\nHost: localhost\r\n");
    other = (struct pollfd){.fd = web_send(f->port, PAGE), .events = POLLIN};
    for (int i = 0; i < seconds && poll(&other, 1, 1000) == 0; i++)
        lines_send(fds);
    assert_int_equal(other.revents, POLLIN);
    text = web_read(other.fd, "<title>Latchkey</title>", LONG_MS);
    assert_int_equal(strncmp(text, "HTTP/1.1 200", 12), 0);
    free(text);
    (void)close(other.fd);
    for (int i = 0; i < CONNECTIONS; i++)
        (void)close(fds[i]);
    it_ends(f);
}

/* One that has asked for a stream and reads nothing of it, one whose body does not
   come, one whose head does not. */
SEEING_TEST(no_client_can_hold_up_the_end)
{
    static const char *const begun[] = {
        EVENTS,
        "DELETE /events HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Length: 1000000\r\n\r\nx",
        "GET / HTTP/1.1\r\nHost: localhost\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\n",
        "GET /eve",
    };
    enum { CLIENTS = sizeof(begun) / sizeof(begun[0]) };
    int fds[CLIENTS];
    uint64_t asked_at;

    serve(f);
    for (size_t i = 0; i < CLIENTS; i++)
        fds[i] = web_send(f->port, begun[i]);
    wait_event(f, "\"trouble\":null"); /* it came behind them */
    asked_at = wait_now_ms();
    it_ends(f);
    assert_in_range(wait_now_ms() - asked_at, 0,
                    wait_allowed_ms(wait_scaled_ms(5000)));
    for (size_t i = 0; i < CLIENTS; i++)
        (void)close(fds[i]);
}

SEEING_TEST(what_is_no_place_or_time_is_refused)
{
    assert_tool(&f->how, 64, "", "[ADDR:]PORT", "serve", "--listen", "here",
                NULL);
    assert_tool(&f->how, 64, "", "100 ms at least", "serve", "--every", "1ms",
                NULL);
}

/* It is a name, of course, but seldom meant so. */
SEEING_TEST(a_number_alone_is_told_to_be_no_port)
{
    f->tool = tool_start(&f->how, "serve", "--listen", "0", "8080", NULL);
    tool_wait_err(f->tool, "a port is said by --listen 8080", LONG_MS);
}
