/* SPDX-License-Identifier: MIT */

/* `latchkey ls` and `latchkey who`: what they show of other processes. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/seeing.h"
#include "support/wait.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

/* One holds the lock "deploy", two wait for it. */
static void start_a_queue(seeing *f)
{
    seeing_start(f, (keeper_how){.holds = "deploy", .reason = "release 4.2"});
    seeing_start(f, (keeper_how){.waits = "deploy", .reason = "release 4.3"});
    seeing_start(f, (keeper_how){.waits = "deploy", .reason = "release 4.4"});
    assert_soon(server_integer(f->server, SERVER_WAITERS("deploy")) == 2, 5000);
}

/* A process stops a moment after it was told to. */
static bool is_shown_stopped(const seeing *f)
{
    tool *t = tool_start(&f->how, "who", "n", NULL);
    bool is_shown;

    assert_int_equal(tool_wait(t, 10000), 0);
    is_shown = strstr(tool_out(t), ", whose process is stopped\n") != NULL;
    tool_free(t);
    return is_shown;
}

static bool lacks(const seeing *f, const char *text)
{
    tool *t = tool_start(&f->how, "who", "n", NULL);
    bool is_lacking;

    assert_int_equal(tool_wait(t, 10000), 0);
    is_lacking = strstr(tool_out(t), " pid ") != NULL &&
                 strstr(tool_out(t), text) == NULL;
    tool_free(t);
    return is_lacking;
}

/* It is of this host, where that can be seen. */
SEEING_TEST(a_holder_whose_process_is_not_well_is_shown_to_be)
{
    tool *t;

    seeing_start(f, (keeper_how){.holds = "n"});
    t = tool_start(&f->how, "who", "n", NULL);
    assert_int_equal(tool_wait(t, 10000), 0);
    assert_null(strstr(tool_out(t), "whose process"));
    tool_free(t);
    assert_int_equal(kill(f->keepers[0], SIGSTOP), 0);
    assert_soon(is_shown_stopped(f), 10000);
    keeper_kill(f->keepers[0]);
    f->count = 0;
    assert_tool(&f->how, 0, ", whose process is gone", "", "who", "n", NULL);
    t = tool_start(&f->how, "break", "--yes", "n", NULL);
    tool_wait_err(t, "this host does not see the process of ", 10000);
    tool_wait_err(t, "this ends it at once:\n  latchkey break --now n\n",
                  10000);
    tool_wait_err(t, "waiting for the lease of ", 10000);
    tool_wait_err(t, " at most; if its work is over: ^C, then --now", 10000);
    tool_free(t);
}

/* In what is written there was of a pid, another text stands. */
static void change_records(seeing *f, const char *from, const char *to)
{
    static const char script[] =
        "local count = 0 for _, key in ipairs(redis.call('KEYS', "
        "'latchkey:client:*')) do local text, n = "
        "string.gsub(redis.call('GET', "
        "key), ARGV[1], ARGV[2]) count = count + n redis.call('SET', key, "
        "text, "
        "'KEEPTTL') end return count";

    assert_int_equal(server_integer(f->server, "EVAL %s 0 %s %s", script, from,
                                    to),
                     1);
}

/* As in a container that has the name of its host: its pids are not this host's. */
SEEING_TEST(a_pid_of_another_namespace_is_not_looked_for)
{
    static const char gone[] = ", whose process is gone";

    seeing_start(f, (keeper_how){.holds = "n"});
    keeper_kill(f->keepers[0]);
    f->count = 0;
    assert_tool(&f->how, 0, gone, "", "who", "n", NULL);
    change_records(f, "(\np %x+:)%d+", "%14711");
    assert_true(lacks(f, gone));
    change_records(f, "\np (%x+:)%d+", "");
    assert_true(lacks(f, gone));
}

SEEING_TEST(who_shows_holder_and_waiters)
{
    char pid[32];

    start_a_queue(f);
    snprintf(pid, sizeof(pid), " pid %d (test_cli_see), user ",
             (int)f->keepers[0]);
    assert_tool(&f->how, 0, "deploy: lock, 1 holding, 2 waiting\n  held by ",
                "", "who", "deploy", NULL);
    assert_tool(&f->how, 0, pid, "", "who", "deploy", NULL);
    assert_tool(&f->how, 0, "    why   release 4.2\n    id ", "", "who",
                "deploy", NULL);
    assert_tool(&f->how, 0, "  waiting 1: ", "", "who", "deploy", NULL);
    assert_tool(&f->how, 0, "  waiting 2: ", "", "who", "deploy", NULL);
    assert_tool(&f->how, 0, ", fence ", "", "who", "deploy", NULL);
}

SEEING_TEST(who_tells_what_is_redissons)
{
    server_integer(f->server, "HSET job " JAVA " 2");
    assert_tool(&f->how, 0,
                "job: lock, 1 holding, 0 waiting\n  held by " JAVA
                ", by Redisson\n    no lease\n    id    " JAVA "\n",
                "", "who", "job", NULL);
}

SEEING_TEST(who_tells_who_waits_for_redissons_fair_lock)
{
    server_integer(f->server, "HSET job " JAVA " 1");
    server_integer(f->server, "RPUSH redisson_lock_queue:{job} %s %s",
                   "11234567-89ab-cdef-0123-456789abcdef:5",
                   "21234567-89ab-cdef-0123-456789abcdef:6");
    assert_tool(&f->how, 0, "job: lock, 1 holding, 2 waiting\n  held by", "",
                "who", "job", NULL);
    assert_tool(&f->how, 0,
                "  waiting 1: 11234567-89ab-cdef-0123-456789abcdef:5, by "
                "Redisson",
                "", "who", "job", NULL);
    assert_tool(&f->how, 0,
                "\"count\":0,\"process\":null,\"library\":\"redisson\","
                "\"waited_ms\":null",
                "", "who", "job", "--json", NULL);
    seeing_start(f, (keeper_how){.waits = "job"});
    while (server_integer(f->server, SERVER_WAITERS("job")) == 0)
        continue; /* the test's time limit ends it */
    assert_tool(&f->how, 0,
                "  waiting 3: 21234567-89ab-cdef-0123-456789abcdef:6, by "
                "Redisson",
                "", "who", "job", NULL);
}

/* What others wrote into the keys of a name. */
SEEING_TEST(numbers_that_cannot_be_are_told_as_what_they_mean)
{
    freeReplyObject(server_command(f->server, "SET sem -5"));
    free(server_string(f->server, "SET latchkey:{sem}:r %s",
                       "2p 0 0 0 - - - 0 - - - 0 0 - - "));
    assert_tool(&f->how, 0, "none of 0 permits free, 5 too many are taken", "",
                "who", "sem", NULL);
    server_integer(f->server, "HSET job " JAVA " 1");
    server_integer(f->server, "PEXPIRE job 60000");
    free(server_string(f->server, "SET latchkey:{job}:r %s",
                       "2l 9007199254740991 0 0 - - - 9007199254740991 " JAVA
                       " 0 l 1 9007199254740991 - p "));
    assert_tool(&f->how, 0, ", lease left 0:", "", "who", "job", NULL);
    server_integer(f->server, "DEL job");
    assert_tool(&f->how, 78, "", "no more fences: one was set to 2^53", "lock",
                "job", "true", NULL);
}

SEEING_TEST(who_of_what_is_not_there_is_75)
{
    assert_tool(&f->how, 75, "", "nope: nothing is known under this name",
                "who", "nope", NULL);
    assert_tool(&f->how, 64, "", NULL, "who", "{", NULL);
    assert_tool(&f->how, 64, "", NULL, "who", NULL);
}

SEEING_TEST(ls_shows_every_kind)
{
    start_a_queue(f);
    seeing_start(f, (keeper_how){.reads = "rw"});
    seeing_start(f, (keeper_how){.takes = "sem"});
    server_integer(f->server, "HSET job " JAVA " 1");
    assert_tool(&f->how, 0, "NAME    KIND       HOLD  WAIT", "", "ls", NULL);
    assert_tool(&f->how, 0, "\ndeploy  lock          1     2", "", "ls", NULL);
    assert_tool(&f->how, 0, "\nrw      rwlock        1     0", "", "ls", NULL);
    assert_tool(&f->how, 0, "\nsem     semaphore   2/3     0", "", "ls", NULL);
    assert_tool(&f->how, 0, "\njob     lock          1     0", "", "ls", NULL);
    assert_tool(&f->how, 0, JAVA " Redisson", "", "ls", NULL);
    assert_tool(&f->how, 0, "test_cli_see", "", "ls", "dep*", NULL);
    assert_tool(&f->how, 0, "NAME  KIND  HOLD  WAIT\n", "", "ls", "x*", NULL);
}

static bool all_are_taken(seeing *f)
{
    tool *t = tool_start(&f->how, "ls", "sem", NULL);
    bool are = tool_wait(t, 10000) == 0 && strstr(tool_out(t), " 3/3 ") != NULL;

    tool_free(t);
    return are;
}

SEEING_TEST(ls_shows_a_holder_of_each_semaphore_in_use)
{
    tool *second;

    assert_tool(&f->how, 0, NULL, NULL, "semaphore", "-p", "2", "free", "true",
                NULL);
    seeing_start(f, (keeper_how){.takes = "sem"});
    assert_tool(&f->how, 0, " test_cli_see  ", "", "ls", "sem", NULL);
    second = tool_start(&f->how, "semaphore", "-p", "3", "sem", "sleep", "1000",
                        NULL);
    assert_soon(all_are_taken(f), 10000);
    assert_tool(&f->how, 0, " +1  ", "", "ls", "sem", NULL);
    assert_tool(&f->how, 0, " +1  ", "", "top", "sem", NULL);
    assert_tool(&f->how, 0, "NAME  KIND  HOLD  WAIT\n", "", "ls", "free", NULL);
    assert_tool(&f->how, 0, "\nfree  semaphore  2 left     0", "", "ls",
                "--idle", "free", NULL);
    tool_free(second);
}

/* A count of the names in use is one of those that `ls` shows. */
SEEING_TEST(a_semaphore_that_nobody_uses_is_no_name_in_use)
{
    assert_tool(&f->how, 0, NULL, NULL, "semaphore", "-p", "2", "free", "true",
                NULL);
    assert_tool(&f->how, 0, "NAME  KIND  HOLD  WAIT\n", "", "top", NULL);
    assert_tool(&f->how, 0, "\"all\":{\"names\":0,", "", "metrics", "--json",
                NULL);
    assert_tool(&f->how, 0, "\nlatchkey_names{kind=\"semaphore\"} 0\nlatch", "",
                "metrics", "--names", NULL);
    seeing_start(f, (keeper_how){.takes = "sem"});
    assert_tool(&f->how, 0, "\"all\":{\"names\":1,", "", "metrics", "--json",
                NULL);
}

/* Of a holder that is not known, and of none, there is no time. */
SEEING_TEST(a_time_is_told_only_of_what_is_known_to_be_held)
{
    tool *t;

    server_integer(f->server, "HSET java " JAVA " 1");
    assert_tool(&f->how, 0, NULL, NULL, "latch", "set", "gate", "2", NULL);
    seeing_start(f, (keeper_how){.holds = "n"});
    t = tool_start(&f->how, "metrics", "--names", NULL);
    assert_int_equal(tool_wait(t, 10000), 0);
    assert_non_null(
        strstr(tool_out(t), "\nlatchkey_name_held_seconds{name=\"n\"} "));
    assert_null(strstr(tool_out(t), "held_seconds{name=\"java\"}"));
    assert_null(strstr(tool_out(t), "held_seconds{name=\"gate\"}"));
    assert_non_null(strstr(tool_out(t), "name_waiters{name=\"gate\"} 0"));
    tool_free(t);
}

SEEING_TEST(a_waiter_whose_process_is_gone_is_shown_to_be)
{
    pid_t waiter;

    seeing_start(f, (keeper_how){.holds = "n"});
    waiter = seeing_start(f, (keeper_how){.waits = "n"});
    assert_soon(server_integer(f->server, SERVER_WAITERS("n")) == 1, 10000);
    assert_tool(&f->how, 0, "n: lock, 1 holding, 1 waiting\n ", "", "who", "n",
                NULL);
    assert_tool(&f->how, 0, ", alive, for ", "", "who", "n", NULL);
    assert_tool(&f->how, 0, ",\"alive\":true}", "", "who", "--json", "n", NULL);
    keeper_kill(waiter);
    f->count = 1;
    assert_tool(
        &f->how, 0,
        "n: lock, 1 holding, 1 waiting, 1 of them gone from this host\n ", "",
        "who", "n", NULL);
    assert_tool(&f->how, 0, "\"process\":\"gone\"", "", "who", "--json", "n",
                NULL);
    assert_tool(&f->how, 0, ",\"alive\":false}", "", "who", "--json", "n",
                NULL);
    assert_tool(&f->how, 0, ", whose process is gone, for ", "", "who", "n",
                NULL);
}

SEEING_TEST(ls_cuts_only_for_terminals)
{
    static const char *const narrow[] = {"COLUMNS=40", NULL};
    tool_how how = f->how;
    char name[301] = "", reason[151] = "";

    memset(name, 'n', sizeof(name) - 1);
    memset(reason, 'r', sizeof(reason) - 1);
    seeing_start(f, (keeper_how){.holds = name, .reason = reason});
    assert_tool(&f->how, 0, name, "", "ls", "-n", NULL);
    assert_tool(&f->how, 0, reason, "", "ls", NULL);
    how.env = narrow;
    assert_tool(&how, 0, "nnnnn~nnnnnn  lock  1  0  0", "", "ls", "-n", NULL);
    how.has_terminal = true;
    how.env = NULL;
    assert_tool(&how, 0, "n~n", NULL, "ls", "-n", NULL);
}

/* Where nothing is cut, one long name does not push the others' columns away. */
SEEING_TEST(a_long_name_leaves_the_other_rows_alone)
{
    char name[301] = "";

    memset(name, 'n', sizeof(name) - 1);
    server_integer(f->server, "HSET %s " JAVA " 1", name);
    server_integer(f->server, "HSET b " JAVA " 1");
    assert_tool(&f->how, 0,
                "b                                                         lock"
                "  1  0  ",
                "", "ls", "-n", NULL);
}

/* \346\227\245 and its like take two columns of a terminal each. */
SEEING_TEST(a_wide_character_takes_two_columns)
{
    server_integer(f->server, "HSET %s " JAVA " 1",
                   "\346\227\245\346\234\254e\314\201");
    server_integer(f->server, "HSET b " JAVA " 1");
    assert_tool(&f->how, 0, "\346\227\245\346\234\254e\314\201  lock  1  0  ",
                "", "ls", "-n", NULL);
    assert_tool(&f->how, 0, "b      lock  1  0  ", "", "ls", "-n", NULL);
}

/* What is left of it is whole characters, and no wider than the column. */
SEEING_TEST(a_wide_name_is_cut_by_its_columns)
{
    enum { CHARACTERS = 60 };
    static const char *const narrow[] = {"COLUMNS=40", NULL};
    tool_how how = f->how;
    char name[3 * CHARACTERS + 1] = "";

    for (size_t i = 0; i < CHARACTERS; i++)
        (void)snprintf(name + 3 * i, 4, "\346\227\245");
    server_integer(f->server, "HSET %s " JAVA " 1", name);
    how.env = narrow;
    assert_tool(&how, 0,
                "\346\227\245\346\227\245\346\227\245\346\227\245"
                "\346\227\245\346\227\245~"
                "\346\227\245\346\227\245\346\227\245\346\227\245"
                "\346\227\245\346\227\245\346\227\245"
                "   lock  1  0\n  01234567-89ab-~56789abcdef:71 Redisson\n",
                "", "ls", "-n", NULL);
}

SEEING_TEST(a_name_of_several_words_is_one)
{
    server_integer(f->server, "HSET %s " JAVA " 1", "two \"words\"");
    assert_tool(&f->how, 0, "\n\"two \\\"words\\\"\"  lock ", "", "ls", NULL);
}

/* Readers have a record each, the name's is about the last writer. */
SEEING_TEST(ls_knows_its_own_readers)
{
    seeing_start(f, (keeper_how){.reads = "rw", .reason = "a  report"});
    assert_tool(&f->how, 0, "  a  report", "", "ls", NULL);
    assert_tool(&f->how, 0,
                "\"mode\":\"read\",\"count\":1,\"process\":null,\"library\":"
                "\"latchkey\",\"fence\":",
                "", "ls", "--json", NULL);
}

/* The names in the order in which they are written. */
static void
assert_order(seeing *f, const char *sort, const char *first, const char *second)
{
    tool *t = tool_start(&f->how, "ls", "-s", sort, NULL);
    const char *out;

    assert_int_equal(tool_wait(t, 10000), 0);
    out = tool_out(t);
    assert_non_null(strstr(out, first));
    assert_non_null(strstr(out, second));
    assert_true(strstr(out, first) < strstr(out, second));
    tool_free(t);
}

SEEING_TEST(ls_sorts)
{
    seeing_start(f, (keeper_how){.holds = "a"});
    start_a_queue(f);
    assert_order(f, "name", "\na ", "\ndeploy ");
    assert_order(f, "waiters", "\ndeploy ", "\na ");
    assert_order(f, "held", "\na ", "\ndeploy ");
}

/* One that a terminal would obey, in whatever way it comes. */
static void
check_shown(seeing *f, const char *name, const char *text, const char *json)
{
    char line[128];

    server_integer(f->server, "HSET %s " JAVA " 1", name);
    (void)snprintf(line, sizeof(line), "\n\"%s\" ", text);
    assert_tool(&f->how, 0, line, "", "ls", NULL);
    (void)snprintf(line, sizeof(line), "%s: lock", text);
    assert_tool(&f->how, 0, line, "", "who", name, NULL);
    (void)snprintf(line, sizeof(line), "{\"name\":\"%s\"", json);
    assert_tool(&f->how, 0, line, "", "ls", "--json", NULL);
    server_integer(f->server, "DEL %s", name);
    (void)snprintf(line, sizeof(line), "latchkey who: %s: ", text);
    assert_tool(&f->how, 75, "", line, "who", name, NULL);
}

SEEING_TEST(names_cannot_write_to_the_terminal)
{
    check_shown(f, "\033[31mred", "\\x1b[31mred", "\\u001b[31mred");
    /* A byte that a terminal may take for C1, behind a character. */
    check_shown(f, "e\303\251\23331m", "e\303\251\\x9b31m",
                "e\303\251\\ufffd31m");
    check_shown(f, "a\302\23331m", "a\\u009b31m", "a\\u009b31m");
    /* NOLINTNEXTLINE(misc-misleading-bidirectional) */
    check_shown(f, "a\342\200\256b", "a\\u202eb", "a\\u202eb");
    /* NOLINTNEXTLINE(misc-misleading-bidirectional) */
    check_shown(f, "a\342\201\246b", "a\\u2066b", "a\\u2066b");
    check_shown(f, "a\330\234b", "a\\u061cb", "a\\u061cb");
    check_shown(f, "a\177b", "a\\x7fb", "a\\u007fb");
    check_shown(f, "a\nlatchkey: b", "a\\x0alatchkey: b", "a\\nlatchkey: b");
}

SEEING_TEST(messages_cannot_write_to_the_terminal)
{
    /* NOLINTNEXTLINE(misc-misleading-bidirectional) */
    static const char forged[] = "a\nlatchkey: \302\23331m\342\200\256";
    static const char shown[] = "a\\x0alatchkey: \\u009b31m\\u202e";

    assert_tool(&f->how, 75, "", shown, "why", forged, NULL);
    assert_tool(&f->how, 75, "", shown, "break", "--yes", forged, NULL);
    assert_tool(&f->how, 127, "", shown, "lock", "n", forged, NULL);
    assert_tool(&f->how, 64, "", shown, forged, NULL);
    seeing_start(f, (keeper_how){.holds = forged, .reason = forged});
    assert_tool(&f->how, 75, "", shown, "lock", "-n", forged, "true", NULL);
}

SEEING_TEST(a_server_that_is_away_is_69)
{
    server_kill(f->server);
    assert_tool(&f->how, 69, "", "the server cannot be looked at", "ls", NULL);
}
