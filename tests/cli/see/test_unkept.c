/* SPDX-License-Identifier: MIT */

/* What `acquire` took has no process: what break, lock, watch and log say of it. */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/proxy.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

static char hold[1400]; /* what acquire wrote */

/* A client takes its record with it, if the server reads its last command; else
   that ends by itself, and here at once. */
static void end_records(void)
{
    freeReplyObject(server_command(
        redis, "EVAL %s 0",
        "for _, key in ipairs(redis.call('KEYS', 'latchkey:client:*')) do "
        "redis.call('DEL', key) end"));
}

/* Takes "n", and keeps the text. kind: an option more. */
static void acquire(const char *kind)
{
    tool *t = tool_start(&how, "acquire", "n", "-l1h", "--why", "deploy 4.2",
                         kind, NULL);

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    (void)snprintf(hold, sizeof(hold), "%s", tool_out(t));
    *strchr(hold, '\n') = '\0';
    tool_free(t);
    end_records();
}

/* Interrupts a break that waits. */
static void interrupt(tool *t)
{
    assert_int_equal(kill(tool_pid(t), SIGINT), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 130);
}

TOOLING_TEST(a_break_says_that_no_process_keeps_it)
{
    tool *t;

    acquire(NULL);
    t = tool_start(&how, "break", "--yes", "n", NULL);
    tool_wait_err(t, "no process is known that keeps the hold of ", SOON_MS);
    tool_wait_err(t, "(deploy 4.2; by ", SOON_MS);
    tool_wait_err(t, "it ends with its lease, in 59:", SOON_MS);
    tool_wait_err(t, "this ends it at once:\n  latchkey break --now n\n",
                  SOON_MS);
    tool_wait_err(t, "waiting for the lease of ", SOON_MS);
    tool_wait_err(t, " to end, for 59:", SOON_MS);
    tool_wait_err(t, "; if its work is over: ^C, then --now", SOON_MS);
    interrupt(t);
}

/* The line acts on the server that was named, and has no password in it. */
TOOLING_TEST(the_line_names_the_server_that_was_named)
{
    const char *url = server_url(redis);
    const tool_how bare = {.env = NULL};
    char with[256], words[512];
    tool *t;

    acquire(NULL);
    (void)snprintf(words, sizeof(words),
                   "\n  latchkey break --url %s --now n\n", url);
    t = tool_start(&bare, "--url", url, "break", "--yes", "n", NULL);
    tool_wait_err(t, words, SOON_MS);
    interrupt(t);
    tool_free(t);
    (void)snprintf(with, sizeof(with), "unix://default:secret@%s",
                   strchr(url, '/'));
    t = tool_start(&bare, "--url", with, "break", "--yes", "n", NULL);
    tool_wait_err(t, "\n  latchkey break --url URL --now n\n", SOON_MS);
    interrupt(t);
    tool_free(t);
}

/* Whoever copies the line runs nothing but what it says. */
TOOLING_TEST(a_name_that_a_shell_may_misread_is_not_in_the_line)
{
    tool *t;

    assert_tool(&how, 0, NULL, NULL, "acquire", "it's; ls", "-l1h", NULL);
    end_records();
    t = tool_start(&how, "break", "--yes", "it's; ls", NULL);
    tool_wait_err(t, "this ends it at once:\n  latchkey break --now NAME\n",
                  SOON_MS);
    interrupt(t);
    tool_free(t);
    assert_tool(&how, 0, NULL, NULL, "break", "--now", "--yes", "it's; ls",
                NULL);
}

TOOLING_TEST(it_says_so_before_it_asks)
{
    const tool_how terminal = {.url = server_url(redis), .has_terminal = true};
    tool *t;

    acquire(NULL);
    t = tool_start(&terminal, "break", "n", NULL);
    tool_wait_out(t, "no process is known", SOON_MS);
    tool_wait_out(t, "End it? The end of its lease is waited for. [y/N]",
                  SOON_MS);
    tool_type(t, "n\n");
    assert_int_equal(tool_wait(t, SOON_MS), 75);
}

/* With --now nobody is waited for; a tool that runs can be told. */
TOOLING_TEST(where_nobody_is_missed_nothing_is_said)
{
    tool *t;

    acquire(NULL);
    t = tool_start(&how, "break", "--yes", "--now", "n", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_null(strstr(tool_err(t), "no process"));
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
    t = tool_start(&how, "lock", "m", "-c", "echo in; exec sleep 100", NULL);
    tool_wait_out(t, "in\n", SOON_MS);
    t = tool_start(&how, "break", "--yes", "m", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_null(strstr(tool_err(t), "no process"));
}

/* The begin of its id and the reason: the whole id tells nobody anything. */
TOOLING_TEST(who_and_ls_tell_why_it_was_taken)
{
    enum { BEGIN = 8 };
    char begin[BEGIN + 2], whole[BEGIN + 9];
    const char *at;
    tool *t;

    acquire(NULL);
    t = tool_start(&how, "who", "n", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    at = strstr(tool_out(t), "  held by ");
    assert_non_null(at);
    at += strlen("  held by ");
    assert_memory_equal(at + BEGIN, " (deploy 4.2; by ", 17);
    (void)snprintf(begin, sizeof(begin), "%.8s ", at);
    (void)snprintf(whole, sizeof(whole), "  id    %.8s", at);
    assert_non_null(strstr(tool_out(t), whole));
    t = tool_start(&how, "ls", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_non_null(strstr(tool_out(t), begin));
    assert_null(strstr(tool_out(t), whole));
}

/* The id tells nobody why a name is taken. */
TOOLING_TEST(waiters_and_the_log_tell_why_it_was_taken)
{
    tool *t;

    acquire(NULL);
    t = tool_start(&how, "watch", "n", NULL);
    tool_wait_out(t, "(deploy 4.2; by ", SOON_MS);
    t = tool_start(&how, "lock", "n", "true", NULL);
    tool_wait_err(t, "waiting for n: position 1 of 1, held by ", SOON_MS);
    tool_wait_err(t, " (deploy 4.2; by ", SOON_MS);
    t = tool_start(&how, "wait", "n", NULL);
    tool_wait_err(t, " (deploy 4.2; by ", SOON_MS);
    assert_int_equal(tool_code(&how, "break", "--yes", "--now", "n", NULL), 0);
    assert_tool(&how, 0, " (deploy 4.2; by ", "", "log", "n", NULL);
}

/* Whoever looks while it is waited for, and whoever waits. */
TOOLING_TEST(what_is_revoked_is_called_so)
{
    static const char *const kinds[] = {"-l1h", "--fair", "--shared",
                                        "--exclusive", "-p1"};
    tool *waiter;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        tool *t;

        acquire(kinds[i]);
        assert_tool(&how, 0, "\"revoked\":false", "", "who", "n", "--json",
                    NULL);
        t = tool_start(&how, "break", "--yes", "n", NULL);
        tool_wait_err(t, "waiting for the lease of ", SOON_MS);
        assert_tool(&how, 0, ", revoked\n    since ", "", "who", "n", NULL);
        assert_tool(&how, 0, "\"revoked\":true", "", "who", "n", "--json",
                    NULL);
        assert_tool(&how, 0, "  revoked; deploy 4.2; by ", "", "ls", NULL);
        tool_free(t);
        server_flush(redis);
    }
    acquire(NULL);
    waiter = tool_start(&how, "lock", "n", "true", NULL);
    tool_wait_err(waiter, "held by ", SOON_MS);
    (void)tool_start(&how, "break", "--yes", "n", NULL);
    tool_wait_err(waiter, " (revoked) for ", SOON_MS);
    tool_wait_err(tool_start(&how, "wait", "n", NULL), "), revoked", SOON_MS);
}

/* Its owner says that it has stopped, which nobody has to wait for any more. */
TOOLING_TEST(a_release_ends_what_was_revoked)
{
    static const char *const kinds[] = {"-l1h", "--fair", "--shared",
                                        "--exclusive", "-p1"};
    tool *t;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        acquire(kinds[i]);
        t = tool_start(&how, "break", "--yes", "n", NULL);
        tool_wait_err(t, "waiting for the lease of ", SOON_MS);
        assert_tool(&how, 74, "", "an operator has revoked this hold of ",
                    "renew", hold, NULL);
        assert_tool(&how, 74, "",
                    "was revoked by an operator before; it is given back now",
                    "release", hold, NULL);
        assert_int_equal(tool_wait(t, SOON_MS), 0);
        assert_tool(&how, 74, "", "an operator has ended this hold of ",
                    "release", hold, NULL);
        server_flush(redis);
    }
}

/* Of what the server has forgotten its log may still tell. */
TOOLING_TEST(a_release_says_what_has_become_of_the_hold)
{
    tool *t;

    acquire(NULL);
    assert_int_equal(tool_code(&how, "break", "--yes", "--now", "n", NULL), 0);
    assert_tool(&how, 74, "",
                "an operator has ended this hold of lock 'n': user ", "release",
                hold, NULL);
    assert_tool(&how, 74, "", "; nobody holds it now", "release", hold, NULL);
    t = tool_start(&how, "lock", "n", "-c", "echo in; exec sleep 100", NULL);
    tool_wait_out(t, "in\n", SOON_MS);
    assert_tool(&how, 74, "", "; held now by ", "release", hold, NULL);
    assert_tool(&how, 74, "", " (sh, user ", "release", hold, NULL);
}

/* Whose break it was is not told of another hold of the name. */
TOOLING_TEST(a_break_of_another_hold_is_not_named)
{
    acquire(NULL);
    assert_int_equal(tool_code(&how, "break", "--yes", "--now", "n", NULL), 0);
    acquire(NULL);
    assert_int_equal(tool_code(&how, "release", hold, NULL), 0);
    assert_tool(&how, 74, "",
                "this hold of lock 'n' has ended: released or renewed before, "
                "taken over "
                "by a program, ended by an operator, or its lease is over; "
                "nobody holds it now",
                "release", hold, NULL);
}

/* ---- revoked while it is renewed --------------------------------------------- */

/* Who holds "n", by its id; it has changed since the text was of another. */
typedef struct taking {
    lk_client *client;
    char owner[96];
} taking;

static bool is_taken_over(taking *t)
{
    lk_kind kind;
    lk_info *info = NULL;

    assert_status(lk_who(t->client, "n", &kind, &info), LK_OK);
    (void)snprintf(t->owner, sizeof(t->owner), "%s", info->holders[0]->owner);
    lk_info_free(info);
    return strstr(hold, t->owner) == NULL;
}

/* Behind the proxy each request of the tool waits until it is let through. So something
   comes between its import and the longer lease, for which it asks then. */
typedef struct slow_line {
    proxy *p;
    tool_how how;
    lk_client *client; /* on a line of its own */
    taking of;
} slow_line;

enum { COMMAND = 0, NEVER_MS = 3600000 };

static void slow_begin(slow_line *s)
{
    *s = (slow_line){.p = proxy_start(server_socket(redis))};
    assert_non_null(s->p);
    s->how.url = proxy_url(s->p);
    assert_status(lk_client_open(&s->client, server_url(redis), NULL), LK_OK);
    s->of.client = s->client;
}

static void slow_end(slow_line *s)
{
    lk_client_free(s->client);
    proxy_stop(s->p);
}

static bool has_a_request(void *data)
{
    const slow_line *s = data;

    return proxy_received(s->p, COMMAND, PROXY_REQUESTS) >
           proxy_delivered(s->p, COMMAND, PROXY_REQUESTS);
}

/* Lets one request after the other through, until one of them was the import. What was
   let through the server has carried out before it answers a second time. */
static bool has_imported(void *data)
{
    slow_line *s = data;

    if (!has_a_request(s))
        return false;
    freeReplyObject(server_command(redis, "PING"));
    if (is_taken_over(&s->of))
        return true;
    proxy_hasten(s->p, COMMAND, PROXY_REQUESTS);
    return false;
}

/* The renewal, when its import has been carried out and nothing that follows that. */
static tool *slow_renew(slow_line *s)
{
    tool *t;

    acquire(NULL);
    proxy_delay(s->p, COMMAND, PROXY_REQUESTS, NEVER_MS);
    t = tool_start(&s->how, "renew", "-l2h", hold, NULL);
    assert_soon(has_imported(s), SOON_MS);
    return t;
}

/* The shell may be at work still. */
TOOLING_TEST(a_renewal_gives_back_nothing_that_is_revoked_meanwhile)
{
    slow_line s;
    int64_t left_ms;
    tool *t;

    slow_begin(&s);
    t = slow_renew(&s);
    assert_status(lk_revoke(s.client, "n", s.of.owner, &left_ms), LK_OK);
    proxy_delay(s.p, COMMAND, PROXY_REQUESTS, 0);
    proxy_hasten(s.p, COMMAND, PROXY_REQUESTS);
    assert_int_equal(tool_wait(t, 6 * SOON_MS), 74);
    assert_int_equal(server_integer(redis, "EXISTS n"), 1);
    slow_end(&s);
}

/* The text before is worth nothing any more. */
TOOLING_TEST(a_renewal_writes_the_hold_though_its_lease_is_in_doubt)
{
    slow_line s;
    tool *t;

    slow_begin(&s);
    t = slow_renew(&s);
    assert_int_not_equal(tool_wait(t, 6 * SOON_MS), 0);
    (void)snprintf(hold, sizeof(hold), "%s", tool_out(t));
    hold[strcspn(hold, "\n")] = '\0';
    assert_tool(&how, 0, "", "", "release", hold, NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
    slow_end(&s);
}

CHECK_GROUP(tooling_start, tooling_stop)
