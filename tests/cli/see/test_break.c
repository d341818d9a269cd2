/* SPDX-License-Identifier: MIT */

/* `latchkey break`: what it shows, asks and ends. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "support/seeing.h"
#include "support/wait.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

enum { LONG_MS = 10000 };

static scratch *folder;

static int start(NO_STATE)
{
    folder = scratch_new();
    return folder != NULL ? 0 : -1;
}

static int stop(NO_STATE)
{
    scratch_free(folder);
    return 0;
}

/* The id of the first holder of "deploy". */
static const char *owner_of(seeing *f)
{
    static char owner[80];
    char *field;
    redisReply *reply = server_command(f->server, "HKEYS deploy");

    assert_int_equal(reply->elements, 1);
    field = reply->element[0]->str;
    (void)snprintf(owner, sizeof(owner), "%s", field);
    freeReplyObject(reply);
    return owner;
}

SEEING_TEST(a_hold_is_ended_and_its_holder_told)
{
    pid_t keeper =
        seeing_start(f, (keeper_how){.holds = "deploy", .reason = "4.2"});

    assert_tool(&f->how, 0, "deploy: lock, 1 holding",
                "latchkey break: revoked; its holder has stopped, or its lease "
                "is over\n",
                "break", "--yes", "deploy", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 0);
    assert_int_equal(keeper_join(keeper), 0); /* told who ended it */
    f->count = 0;
    assert_tool(&f->how, 75, NULL, "nobody holds deploy", "break", "--yes",
                "deploy", NULL);
}

/* As in `break NAME 2>&1 | tee log`. */
SEEING_TEST(what_it_shows_stands_before_what_it_did)
{
    static const char *const variables[] = {"tool=" LK_TOOL, NULL};
    const tool_how shell = {.url = server_url(f->server),
                            .program = "sh",
                            .env = variables};
    tool *t;
    const char *shown;
    const char *ended;

    seeing_start(f, (keeper_how){.holds = "deploy"});
    t = tool_start(&shell, "-c", "$tool break --yes deploy 2>&1 | cat", NULL);
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    shown = strstr(tool_out(t), "deploy: lock, 1 holding");
    ended = strstr(tool_out(t), "latchkey break: revoked; its holder has "
                                "stopped, or its lease is over\n");
    assert_non_null(shown);
    assert_non_null(ended);
    assert_true(shown < ended);
    tool_free(t);
}

SEEING_TEST(the_next_in_line_gets_it)
{
    seeing_start(f, (keeper_how){.holds = "deploy"});
    seeing_start(f, (keeper_how){.waits = "deploy", .reason = "next"});
    while (server_integer(f->server, SERVER_WAITERS("deploy")) == 0)
        continue; /* the test's time limit ends it */
    assert_tool(&f->how, 0, NULL, NULL, "break", "-y", "deploy", NULL);
    assert_tool(&f->how, 0, "why   next", NULL, "who", "deploy", NULL);
}

SEEING_TEST(nothing_is_ended_without_a_yes)
{
    seeing_start(f, (keeper_how){.holds = "deploy"});
    assert_tool(&f->how, 64, "deploy: lock", "no terminal to ask on", "break",
                "deploy", NULL);
    assert_tool(&f->how, 0, "deploy: lock", "nothing was changed", "break",
                "--dry-run", "deploy", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 1);
}

/* Asks on the terminal, and takes the answer. */
static int answer(seeing *f, const char *text)
{
    tool_how how = f->how;
    tool *t;
    int code;

    how.has_terminal = true;
    t = tool_start(&how, "break", "deploy", NULL);
    tool_wait_out(t, "End it?", LONG_MS);
    tool_type(t, text);
    code = tool_wait(t, LONG_MS);
    tool_free(t);
    return code;
}

SEEING_TEST(on_a_terminal_it_asks)
{
    pid_t keeper = seeing_start(f, (keeper_how){.holds = "deploy"});

    assert_int_equal(answer(f, "n\n"), 75);
    assert_int_equal(answer(f, "\n"), 75);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 1);
    assert_int_equal(answer(f, "y\n"), 0);
    assert_int_equal(keeper_join(keeper), 0);
    f->count = 0;
}

SEEING_TEST(only_the_owner_that_is_named_is_ended)
{
    seeing_start(f, (keeper_how){.holds = "deploy"});
    assert_tool(&f->how, 75, NULL, "does not hold deploy; nothing was changed",
                "break", "-y", "--if-owner", JAVA, "deploy", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 1);
    assert_tool(&f->how, 0, NULL, NULL, "break", "-y", "--if-owner",
                owner_of(f), "deploy", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 0);
}

/* As of a variable that is not set: it is nobody's. */
SEEING_TEST(an_owner_without_a_name_is_a_mistake)
{
    seeing_start(f, (keeper_how){.holds = "deploy"});
    assert_tool(&f->how, 64, "", "--if-owner wants an id", "break", "-y", "-i",
                "", "deploy", NULL);
    assert_tool(&f->how, 64, "", "--if-owner wants an id", "break", "-y",
                "--now", "-i", "", "deploy", NULL);
    assert_int_equal(server_integer(f->server, "HLEN deploy"), 1);
}

SEEING_TEST(of_several_holders_one_has_to_be_named)
{
    seeing_start(f, (keeper_how){.reads = "rw"});
    seeing_start(f, (keeper_how){.reads = "rw"});
    assert_tool(&f->how, 64, NULL, "2 hold rw: say which with --if-owner ID",
                "break", "-y", "rw", NULL);
    assert_int_equal(server_integer(f->server, "HLEN rw"), 3);
    assert_tool(&f->how, 0, NULL, NULL, "break", "-y", "--all", "rw", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS rw"), 0);
    assert_tool(&f->how, 64, NULL, "contradict each other", "break", "--all",
                "--if-owner", "x", "rw", NULL);
}

SEEING_TEST(redissons_hold_is_ended_and_said_to_be_so)
{
    server_integer(f->server, "HSET deploy " JAVA " 1");
    assert_tool(&f->how, 0, "by Redisson", "Redisson does not tell its holder",
                "break", "-y", "--now", "deploy", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 0);
}

/* Nobody can make its work stop: its lease is waited for, if it has one. */
SEEING_TEST(redissons_hold_is_waited_for)
{
    tool *t;

    server_integer(f->server, "HSET deploy " JAVA " 1");
    t = tool_start(&f->how, "break", "-y", "deploy", NULL);
    tool_wait_err(t, JAVA ": it cannot be told", LONG_MS);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 1);
    (void)server_integer(f->server, "PEXPIRE deploy 50");
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    tool_free(t);
}

/* ---- two commands ---- */

/* Runs a command that needs a second to stop when it is told to, in a directory
   that only one can make. */
static tool *start_slow(seeing *f)
{
    char line[256];
    tool *t;

    (void)snprintf(line, sizeof(line),
                   "trap 'sleep 1; rmdir %s/d; exit' TERM; mkdir %s/d; "
                   "echo in; while :; do sleep 0.05; done",
                   scratch_path(folder), scratch_path(folder));
    t = tool_start(&f->how, "lock", "n", "-c", line, NULL);
    tool_wait_out(t, "in\n", LONG_MS);
    return t;
}

/* It fails if another is in there. */
static tool *start_next(seeing *f)
{
    char line[128];
    tool *t;

    (void)snprintf(line, sizeof(line), "mkdir %s/d", scratch_path(folder));
    t = tool_start(&f->how, "lock", "n", "-c", line, NULL);
    while (server_integer(f->server, SERVER_WAITERS("n")) == 0)
        continue; /* the test's time limit ends it */
    return t;
}

SEEING_TEST(no_two_commands_run_through_a_break)
{
    tool *first = start_slow(f);
    tool *next = start_next(f);

    assert_tool(&f->how, 0, NULL, "to stop, for ", "break", "-y", "n", NULL);
    assert_int_equal(tool_wait(next, LONG_MS), 0);
    assert_int_equal(tool_wait(first, LONG_MS), 74);
    tool_free(first);
    tool_free(next);
}

SEEING_TEST(with_now_two_commands_may_run)
{
    tool *first = start_slow(f);
    tool *next = start_next(f);

    assert_tool(&f->how, 0, NULL, "its work may go on until then", "break",
                "-y", "--now", "n", NULL);
    assert_int_equal(tool_wait(next, LONG_MS), 1);
    assert_int_equal(tool_wait(first, LONG_MS), 74);
    tool_free(first);
    tool_free(next);
}

/* Breaks "n", and waits for an answer however long the machine stands still. */
static tool *start_patient(seeing *f)
{
    char url[512];
    const tool_how how = {.url = url};

    (void)snprintf(url, sizeof(url), "%s?command_timeout_ms=10m&offline_ms=10m",
                   server_url(f->server));
    return tool_start(&how, "break", "-y", "n", NULL);
}

static void assert_ends_well(tool *t, unsigned deadline_ms)
{
    if (tool_wait(t, deadline_ms) != 0)
        fail_msg("%s", tool_err(t));
}

/* It cannot be told, and its lease is waited for: by then its guardian has
   ended the command. */
SEEING_TEST(a_holder_that_stands_still_is_waited_for)
{
    const unsigned lease_ms = 2 * tool_lease_ms(&f->how);
    char lease[32];
    tool *holder;
    tool *breaker;
    tool *second;
    long pid;

    (void)snprintf(lease, sizeof(lease), "--lease=%ums", lease_ms);
    holder = tool_start(&f->how, "lock", lease, "n", "-c",
                        "echo pid=$$; exec sleep 100", NULL);
    pid = tool_wait_number(holder, "pid", LONG_MS);
    assert_int_equal(kill(tool_pid(holder), SIGSTOP), 0);
    breaker = start_patient(f);
    second = start_patient(f);
    tool_wait_err(breaker, "to stop, for ", LONG_MS);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 1);
    assert_ends_well(breaker, lease_ms + LONG_MS);
    assert_false(tool_runs((pid_t)pid));
    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
    assert_ends_well(second, LONG_MS);
    assert_int_equal(kill(tool_pid(holder), SIGCONT), 0);
    assert_int_equal(tool_wait(holder, LONG_MS), 74);
    tool_free(holder);
    tool_free(breaker);
    tool_free(second);
}

SEEING_TEST(a_break_that_is_interrupted_stands)
{
    pid_t keeper = seeing_start(f, (keeper_how){.holds = "deploy"});
    tool *t;

    assert_int_equal(kill(keeper, SIGSTOP), 0);
    t = tool_start(&f->how, "break", "-y", "deploy", NULL);
    tool_wait_err(t, "to stop, for ", LONG_MS);
    assert_int_equal(kill(tool_pid(t), SIGINT), 0);
    assert_int_equal(tool_wait(t, LONG_MS), 130);
    tool_wait_err(t, "deploy stays revoked: it is free when its holder stops",
                  LONG_MS);
    tool_free(t);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 1);
    assert_int_equal(kill(keeper, SIGCONT), 0);
    assert_int_equal(keeper_join(keeper), 0);
    f->count = 0;
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 0);
}

/* Whether the process of a tool has a handler for SIGINT. */
static bool catches_interrupts(void *data)
{
    pid_t pid = tool_pid(data);
    char path[64];
    char line[256];
    unsigned long long caught = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        /* NOLINTNEXTLINE(cert-err34-c): of the kernel */
        (void)sscanf(line, "SigCgt: %llx", &caught);
    (void)fclose(file);
    return (caught >> (SIGINT - 1) & 1) != 0;
}

SEEING_TEST(an_interrupt_before_the_wait_is_no_end)
{
    const tool_how how = {.url = server_url(f->server), .has_terminal = true};
    pid_t keeper = seeing_start(f, (keeper_how){.holds = "deploy"});
    tool *t = tool_start(&how, "break", "deploy", NULL);

    tool_wait_out(t, "[y/N]", LONG_MS);
    assert_int_equal(kill(keeper, SIGSTOP), 0);
    server_freeze(f->server);
    tool_type(t, "y\n");
    assert_true(wait_until(catches_interrupts, t, LONG_MS));
    assert_int_equal(kill(tool_pid(t), SIGINT), 0);
    server_thaw(f->server);
    assert_int_equal(tool_wait(t, LONG_MS), 130);
    assert_non_null(strstr(tool_out(t), "deploy stays revoked"));
    tool_free(t);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 1);
    assert_int_equal(kill(keeper, SIGCONT), 0);
    assert_int_equal(keeper_join(keeper), 0);
    f->count = 0;
}

/* 75 would say that the hold is over. */
SEEING_TEST(a_server_that_goes_meanwhile_is_no_end)
{
    pid_t keeper = seeing_start(f, (keeper_how){.holds = "deploy"});
    tool *t;

    assert_int_equal(kill(keeper, SIGSTOP), 0);
    t = tool_start(&f->how, "break", "-y", "deploy", NULL);
    tool_wait_err(t, "to stop, for ", LONG_MS);
    server_kill(f->server);
    assert_int_equal(tool_wait(t, LONG_MS), 69);
    tool_wait_err(t, "cannot be reached", LONG_MS);
    tool_free(t);
}

/* It has been seen who holds it; then nothing that may write is run for longer than
   one request waits. */
SEEING_TEST(a_server_that_is_slow_is_asked_again)
{
    pid_t keeper = seeing_start(f, (keeper_how){.holds = "deploy"});
    tool_how how = f->how;
    tool *t;

    how.has_terminal = true;
    t = tool_start(&how, "break", "deploy", NULL);
    tool_wait_out(t, "End it?", LONG_MS);
    freeReplyObject(server_command(f->server, "CLIENT PAUSE 2500 WRITE"));
    tool_type(t, "y\n");
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    tool_free(t);
    assert_int_equal(keeper_join(keeper), 0);
    f->count = 0;
}

static long long connections(server *s)
{
    char *text = server_string(s, "INFO stats");
    const char *field = strstr(text, "total_connections_received:");
    long long count;

    assert_non_null(field);
    count = strtoll(strchr(field, ':') + 1, NULL, 10);
    free(text);
    return count;
}

/* Nothing waits any longer, and this is run before all that waited. */
static void go_on_without(server *s, const char *name)
{
    redisContext *context = redisConnectUnix(server_socket(s));
    redisReply *reply = NULL;

    assert_non_null(context);
    assert_int_equal(redisAppendCommand(context, "CLIENT UNPAUSE"), REDIS_OK);
    assert_int_equal(redisAppendCommand(context, "DEL %s", name), REDIS_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(redisGetReply(context, (void **)&reply), REDIS_OK);
        assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
        freeReplyObject(reply);
    }
    redisFree(context);
}

/* It may have ended for what was asked and not answered: the tool has left that
   connection for another one. */
SEEING_TEST(a_hold_that_is_over_by_then_counts_as_ended)
{
    long long wanted;
    tool_how how = f->how;
    tool *t;

    seeing_start(f, (keeper_how){.holds = "deploy"});
    how.has_terminal = true;
    t = tool_start(&how, "break", "deploy", NULL);
    tool_wait_out(t, "End it?", LONG_MS);
    wanted = connections(f->server) + 1;
    freeReplyObject(server_command(f->server, "CLIENT PAUSE 60000 WRITE"));
    tool_type(t, "y\n");
    assert_soon(connections(f->server) >= wanted, LONG_MS);
    go_on_without(f->server, "deploy");
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    tool_free(t);
}

/* At rest the name is a latch again, and nobody holds such a one. */
SEEING_TEST(a_lock_in_the_place_of_a_latch_is_waited_for)
{
    tool *holder;
    tool *breaker;
    pid_t pid;

    assert_tool(&f->how, 0, NULL, NULL, "barrier", "n", "-n1", NULL);
    holder = tool_start(&f->how, "lock", "--on-lost=warn", "n", "-c",
                        "echo pid=$$; exec sleep 100", NULL);
    pid = (pid_t)tool_wait_number(holder, "pid", LONG_MS);
    breaker = tool_start(&f->how, "break", "-y", "n", NULL);
    tool_wait_err(breaker, "to stop, for ", LONG_MS);
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(tool_wait(breaker, LONG_MS), 0);
    tool_wait_err(breaker, "revoked; ", LONG_MS);
    assert_int_equal(tool_wait(holder, LONG_MS), 74);
    tool_free(holder);
    tool_free(breaker);
}

SEEING_TEST(what_nobody_holds_cannot_be_broken)
{
    assert_tool(&f->how, 75, "", "nothing is known under this name", "break",
                "-y", "nope", NULL);
    assert_tool(&f->how, 64, "", NULL, "break", NULL);
}

CHECK_GROUP(start, stop)
