/* SPDX-License-Identifier: MIT */

/* `eval "$(latchkey hold NAME)"` in a real shell: however the shell ends, and
   whatever becomes of the name. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 15000, LEASE_MS = 30000 };

#define HOLD    "eval \"$(" LK_TOOL " hold n)\" || exit; echo held; "
#define HOLD_3S "eval \"$(" LK_TOOL " hold -l3s n)\" || exit; echo held; "
#define FOREVER "while :; do sleep 0.02; done"

static tool_how shell;

static int start(void **state)
{
    if (tooling_start(state) != 0)
        return -1;
    shell = (tool_how){.url = server_url(redis), .program = "sh"};
    return 0;
}

static bool is_free(void *data)
{
    (void)data;
    return server_integer(redis, "EXISTS n") == 0;
}

static void assert_free(void)
{
    assert_true(wait_until(is_free, NULL, SOON_MS));
}

static int forget(void **state)
{
    tool_free_all();
    freeReplyObject(server_command(redis, "ACL SETUSER default +@all"));
    assert_free();
    return tooling_teardown(state);
}

static tool *start_script(const char *script)
{
    tool *t = tool_start(&shell, "-c", script, NULL);

    tool_wait_out(t, "held\n", SOON_MS);
    assert_int_equal(server_integer(redis, "EXISTS n"), 1);
    return t;
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, forget)

TEST(it_is_held_until_the_shell_ends)
{
    tool *t = start_script("trap 'exit 3' USR1; " HOLD FOREVER);

    (void)kill(tool_pid(t), SIGUSR1);
    assert_int_equal(tool_wait(t, SOON_MS), 3);
    assert_free();
    tool_free(t);
    t = start_script(HOLD FOREVER);
    assert_tool(&how, 75, "", "is not obtained", "lock", "-n", "n", "true",
                NULL);
    (void)kill(tool_pid(t), SIGKILL);
    assert_int_equal(tool_wait(t, SOON_MS), 128 + SIGKILL);
    assert_free();
    tool_free(t);
}

/* At a prompt, without eval: somebody reads what is meant for a shell. */
TEST(a_terminal_is_told_what_the_lines_are_for)
{
    const tool_how prompt = {.url = server_url(redis),
                             .program = "sh",
                             .has_terminal = true};
    tool *t = tool_start(&prompt, "-c", LK_TOOL " hold n; echo held", NULL);

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_non_null(strstr(tool_out(t), "these lines are for eval"));
    tool_free(t);
    assert_free();
    assert_tool(&shell, 0, "held\n", "", "-c", HOLD, NULL);
}

/* What the shell has forked for the substitution ends at once. */
TEST(it_is_held_for_the_shell_that_evaluates)
{
    tool *t = start_script("eval \"$(cd / && " LK_TOOL
                           " hold n || exit)\" || exit; echo held; " FOREVER);

    assert_tool(&how, 75, "", "is not obtained", "lock", "-w", "0.3", "n",
                "true", NULL);
    (void)kill(tool_pid(t), SIGKILL);
    assert_int_equal(tool_wait(t, SOON_MS), 128 + SIGKILL);
    assert_free();
    tool_free(t);
}

static bool is_renewed(void *data)
{
    long long *least = data;
    long long left = server_integer(redis, "PTTL n");

    if (left > *least + 100)
        return true;
    if (left < *least)
        *least = left;
    return false;
}

TEST(a_shell_that_is_stopped_keeps_it)
{
    tool *t = start_script(HOLD FOREVER);
    long long least = 1 << 30;

    tool_free(t);
    assert_free();
    t = start_script(HOLD_3S FOREVER);
    (void)kill(tool_pid(t), SIGSTOP);
    assert_true(wait_until(is_renewed, &least, SOON_MS));
    (void)kill(tool_pid(t), SIGKILL);
    assert_free();
    tool_free(t);
}

TEST(release_gives_it_back_before)
{
    assert_tool(&shell, 0, "held\n0\n74\n", "its keeper has ended", "-c",
                HOLD LK_TOOL " release; echo $?; " LK_TOOL " release; echo $?",
                NULL);
    assert_tool(&shell, 0, "held\nnone\n", "", "-c",
                HOLD "eval \"$(" LK_TOOL " release --export)\"; "
                     "echo ${LATCHKEY_KEEPER-none}",
                NULL);
    assert_free();
}

/* A server that does not answer has perhaps not given it back. */
TEST(release_says_that_it_is_not_confirmed)
{
    tool *t =
        start_script("trap '" LK_TOOL " release; exit $?' USR1; " HOLD FOREVER);
    int code;

    server_freeze(redis);
    (void)kill(tool_pid(t), SIGUSR1);
    code = tool_wait(t, 2 * SOON_MS);
    server_thaw(redis);
    assert_int_equal(code, 69);
    assert_non_null(strstr(tool_err(t), "the server has not confirmed that it "
                                        "is given back: "));
    tool_free(t);
    /* Where the release was not sent, the lease ends it. */
    assert_true(wait_until(is_free, NULL, LEASE_MS + SOON_MS));
}

/* The last one first. */
/* It has asked the keeper, and waits for that: it sleeps, with the answer's signal
   blocked. */
static bool has_asked(const pid_t *pid)
{
    unsigned long long blocked = 0;
    bool sleeps = false;
    char path[64], line[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)*pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "SigBlk:", 7) == 0)
            blocked = strtoull(line + 7, NULL, 16);
        sleeps = sleeps || strncmp(line, "State:\tS", 8) == 0;
    }
    (void)fclose(file);
    return sleeps && (blocked >> (SIGRTMIN - 1) & 1) != 0;
}

TEST(everybody_who_releases_it_at_once_is_told)
{
    tool *t =
        tool_start(&shell, "-c", HOLD "echo $LATCHKEY_KEEPER;" FOREVER, NULL);
    char keeper[128] = "LATCHKEY_KEEPER=";
    const char *const env[] = {keeper, NULL};
    const tool_how in = {.url = server_url(redis), .env = env};
    tool *releases[3];

    tool_wait_out(t, ":", SOON_MS);
    (void)sscanf(tool_out(t), "held\n%100[0-9:]", keeper + strlen(keeper));
    server_freeze(redis);
    for (size_t i = 0; i < 3; i++) {
        pid_t pid;

        releases[i] = tool_start(&in, "release", NULL);
        pid = tool_pid(releases[i]);
        assert_soon(has_asked(&pid), SOON_MS);
    }
    server_thaw(redis);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(tool_wait(releases[i], SOON_MS), 0);
    assert_free();
}

TEST(a_shell_may_hold_several)
{
    assert_tool(&shell, 0, "0 1 1\n0 1 0\n74\n0 1 0\n0 0 0\nnone\n", NULL, "-c",
                "eval \"$(" LK_TOOL " hold n)\" || exit\n"
                "eval \"$(" LK_TOOL " hold m)\" || exit\n"
                "held() { " LK_TOOL " -q lock -n n true && a=0 || a=1\n" LK_TOOL
                " -q lock -n m true && b=0 || b=1; echo $1 $a $b; }\n"
                "held 0; " LK_TOOL " release; held $?\n" LK_TOOL
                " release; echo $?\n"
                "eval \"$(" LK_TOOL " release --export)\"; held 0\n"
                "eval \"$(" LK_TOOL " release --export)\"; held 0\n"
                "echo ${LATCHKEY_KEEPER-none}",
                NULL);
}

/* One that a script was called under is not the script's to give back. */
TEST(a_script_gives_back_its_own_alone)
{
    assert_tool(&shell, 0, "0\n74\n1\n", NULL, "-c",
                "eval \"$(" LK_TOOL " hold n)\" || exit\n"
                "sh -c 'eval \"$(" LK_TOOL " hold m)\" || exit\n" LK_TOOL
                " release; echo $?\n" LK_TOOL " release; echo $?'\n" LK_TOOL
                " -q lock -n --conflict-exit-code 1 n true; echo $?",
                NULL);
}

/* What is held still is still known. */
TEST(release_forgets_only_what_it_gives_back)
{
    assert_tool(&shell, 0, "0\n0 none\n", "", "-c",
                "eval \"$(" LK_TOOL " hold n)\" || exit\n"
                "eval \"$(" LK_TOOL " hold m)\" || exit\n"
                "eval \"$(" LK_TOOL " release --export)\"\n" LK_TOOL
                " lock -n m true; echo $?\n"
                "eval \"$(" LK_TOOL " release --export)\"\n" LK_TOOL
                " lock -n n true; echo $? ${LATCHKEY_KEEPER-none}",
                NULL);
}

/* An eval of nothing succeeds: this form fails where there is no tool. */
TEST(a_tool_that_is_missing_ends_the_script)
{
    assert_tool(&shell, 0, "held\n", "", "-c",
                "lines=$(" LK_TOOL " hold n) && eval \"$lines\" || exit; "
                "echo held",
                NULL);
    assert_free();
    assert_tool(&shell, 127, "", "not found", "-c",
                "lines=$(no-such-tool hold n) && eval \"$lines\" || exit; "
                "echo wrong",
                NULL);
}

TEST(an_eval_without_a_hold_fails)
{
    tool *t = start_script(HOLD FOREVER);

    assert_tool(&shell, 75, "", "is not obtained", "-c",
                "eval \"$(" LK_TOOL " hold -n n)\" || exit; echo wrong", NULL);
    assert_tool(&shell, 1, "", NULL, "-c",
                "eval \"$(" LK_TOOL " hold -nE0 n)\" || exit; echo wrong",
                NULL);
    assert_tool(&shell, 64, "", "no option --no-such", "-c",
                "eval \"$(" LK_TOOL " hold --no-such n)\" || exit; echo wrong",
                NULL);
    tool_free(t);
}

/* A thread has no descriptor of its own. */
TEST(a_keeper_that_cannot_begin_says_why)
{
    char script[600];

    (void)snprintf(script, sizeof(script),
                   "for t in $(ls /proc/%d/task); do [ $t = %d ] || break; "
                   "done; eval \"$(" LK_TOOL
                   " hold --pid $t n)\" || exit; echo wrong",
                   (int)server_pid(redis), (int)server_pid(redis));
    assert_tool(&shell, 70, "", "no process for the keeper: ", "-c", script,
                NULL);
}

TEST(a_wait_that_a_signal_ends_leaves_nobody)
{
    tool *t = start_script(HOLD FOREVER);
    tool *waiting = tool_start(&how, "hold", "n", NULL);

    tool_wait_err(waiting, "waiting for n: position 1 of 1", SOON_MS);
    (void)kill(tool_pid(waiting), SIGTERM);
    assert_int_equal(tool_wait(waiting, SOON_MS), 128 + SIGTERM);
    tool_free(waiting);
    tool_free(t);
}

/* What is handed over has a short lease at first. */
TEST(one_that_had_to_wait_is_kept)
{
    static const char *const kinds[][2] = {{"-l1h", "-l1h"},
                                           {"-l30s", "-l30s"},
                                           {"--fair", "--fair"},
                                           {"--exclusive", "--shared"},
                                           {"--shared", "--exclusive"},
                                           {"-p1", "-p1"},
                                           {"-l30s", "--on-lost=warn"}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        tool *holder =
            tool_start(&how,
                       strcmp(kinds[i][0], "-p1") == 0 ? "semaphore" : "lock",
                       kinds[i][0], "n", "-c", "echo in; exec sleep 100", NULL);
        char script[600];
        tool *t;

        tool_wait_out(holder, "in\n", SOON_MS);
        (void)snprintf(script, sizeof(script),
                       "eval \"$(" LK_TOOL " hold %s n)\" || exit; " LK_TOOL
                       " release; echo released $?",
                       kinds[i][1]);
        t = tool_start(&shell, "-c", script, NULL);
        tool_wait_err(t, "waiting for n: ", SOON_MS);
        (void)kill(tool_pid(holder), SIGTERM);
        assert_int_equal(tool_wait(t, SOON_MS), 0);
        assert_string_equal(tool_out(t), "released 0\n");
        assert_null(strstr(tool_err(t), "is lost"));
        tool_free(t);
        tool_free(holder);
        server_flush(redis);
    }
}

TEST(a_shell_whose_name_is_lost_is_ended)
{
    tool *t = start_script(HOLD_3S FOREVER);

    assert_int_equal(server_integer(redis, "DEL n"), 1);
    assert_int_equal(tool_wait(t, SOON_MS), 128 + SIGTERM);
    assert_non_null(strstr(tool_err(t), "lock 'n' is lost: the server does "
                                        "not know it any more: its key was "
                                        "deleted, or the server began again; "
                                        "the shell gets SIGTERM"));
    tool_free(t);
}

/* People look for the shell: for a keeper they could do nothing. */
TEST(who_tells_of_the_shell)
{
    assert_tool(&shell, 0, "\n    why   nightly; by ", "", "-c",
                "eval \"$(" LK_TOOL " hold -y nightly n)\" || exit; "
                "text=$(" LK_TOOL " who n); echo \"$text\"; echo \"$text\" | "
                "grep -q \" pid [0-9]* (sh), user\" && "
                "echo \"$text\" | grep -q \", pid $$ (sh)$\"",
                NULL);
}

/* The shell reads what the tool writes to its end. It would not come if the
   keeper had one of these descriptors. */
TEST(the_keeper_keeps_no_descriptor)
{
    assert_tool(&shell, 0, "held\n", "", "-c",
                "eval \"$(" LK_TOOL " hold n 2>&1 9>&1)\" || exit; echo held",
                NULL);
}

/* Whoever stops the keeper does not let others in beside the shell. */
TEST(a_keeper_that_is_stopped_outlasts_the_shell)
{
    static const char *const losses[] = {"warn", "term"};
    char script[512];

    for (size_t i = 0; i < 2; i++) {
        tool *t;

        (void)snprintf(script, sizeof(script),
                       "trap 'echo told' TERM; eval \"$(" LK_TOOL
                       " hold --on-lost=%s n)\" || exit; echo held; "
                       "kill ${LATCHKEY_KEEPER%%%%:*}; " FOREVER,
                       losses[i]);
        t = start_script(script);
        assert_tool(&how, 75, "", NULL, "-q", "lock", "-w", "0.5", "n", "true",
                    NULL);
        tool_wait_err(t, "its keeper was told to end", SOON_MS);
        (void)kill(tool_pid(t), SIGKILL);
        assert_int_equal(tool_wait(t, SOON_MS), 128 + SIGKILL);
        assert_free();
        tool_free(t);
    }
}

TEST(a_hold_that_is_revoked_outlasts_the_shell)
{
    tool *t =
        start_script("eval \"$(" LK_TOOL
                     " hold --on-lost=warn n)\" || exit; echo held; " FOREVER);
    tool *breaking = tool_start(&how, "break", "--yes", "n", NULL);

    tool_wait_err(t, "the shell goes on", SOON_MS);
    assert_tool(&how, 75, "", NULL, "-q", "lock", "-w", "0.5", "n", "true",
                NULL);
    (void)kill(tool_pid(t), SIGKILL);
    assert_int_equal(tool_wait(t, SOON_MS), 128 + SIGKILL);
    assert_int_equal(tool_wait(breaking, SOON_MS), 0);
    assert_free();
    tool_free(t);
    tool_free(breaking);
}

/* The keeper's own process; the shell goes on when the hold is lost. */
static tool *start_warned(const char *lease, pid_t *ret_keeper)
{
    char script[512];
    tool *t;

    (void)snprintf(script, sizeof(script),
                   "eval \"$(" LK_TOOL " hold --on-lost=warn %s n)\" || exit; "
                   "echo keeper=${LATCHKEY_KEEPER%%%%:*}; echo held; " FOREVER,
                   lease);
    t = start_script(script);
    *ret_keeper = (pid_t)tool_wait_number(t, "keeper", SOON_MS);
    return t;
}

/* It has been told, and goes on; others are kept out by what was the lease. */
TEST(a_keeper_ends_with_the_lease_that_is_not_renewed)
{
    char lease[32];
    pid_t keeper;
    tool *t;

    (void)snprintf(lease, sizeof(lease), "--lease=%ums", tool_lease_ms(&how));
    t = start_warned(lease, &keeper);
    freeReplyObject(server_command(redis, "ACL SETUSER default -pexpire"));
    tool_wait_err(t, "forbids to renew it; the shell goes on", SOON_MS);
    tool_wait_gone(keeper, SOON_MS);
    freeReplyObject(server_command(redis, "ACL SETUSER default +pexpire"));
    assert_true(tool_runs(tool_pid(t)));
}

TEST(a_keeper_of_what_is_revoked_ends_with_a_lease)
{
    pid_t keeper;
    tool *t = start_warned("-l3s", &keeper);
    tool *breaking = tool_start(&how, "break", "--yes", "n", NULL);

    tool_wait_err(t, "the shell goes on", SOON_MS);
    tool_wait_gone(keeper, SOON_MS);
    assert_true(tool_runs(tool_pid(t)));
    assert_int_equal(tool_wait(breaking, SOON_MS), 0);
}

/* The shell is told while the lease still runs. */
TEST(a_hold_that_may_not_be_renewed_says_so)
{
    tool *t = start_script("trap 'exit 3' TERM; " HOLD_3S FOREVER);

    freeReplyObject(server_command(redis, "ACL SETUSER default -pexpire"));
    tool_wait_err(t,
                  "is lost: an access rule of the server forbids to renew it; "
                  "the shell gets SIGTERM",
                  SOON_MS);
    freeReplyObject(server_command(redis, "ACL SETUSER default +pexpire"));
    assert_int_equal(tool_wait(t, SOON_MS), 3);
}

/* A hold of its own does not make what it inherits its own. */
TEST(a_script_leaves_what_its_caller_has)
{
    assert_tool(&shell, 0, "0\n75\n0\n64\n75\n", NULL, "-c",
                "eval \"$(" LK_TOOL " acquire -l1h --export n)\" || exit\n"
                "sh -c 'eval \"$(" LK_TOOL " hold m)\" || exit\n" LK_TOOL
                " release; echo $?'\n" LK_TOOL
                " -q lock -n n true; echo $?\n" LK_TOOL " release || exit\n"
                "unset LATCHKEY_HOLD; eval \"$(" LK_TOOL " hold n)\" || exit\n"
                "sh -c 'eval \"$(" LK_TOOL
                " acquire -l1h --export m)\" || exit\n"
                "eval \"$(" LK_TOOL " release --export)\"; echo $?\n" LK_TOOL
                " release; echo $?'\n" LK_TOOL " -q lock -n n true; echo $?",
                NULL);
}

TEST(one_that_is_not_obtained_leaves_the_keepers)
{
    assert_tool(&shell, 0, "75\n0\n0\n", NULL, "-c",
                "other=$(" LK_TOOL " acquire -l1h m) || exit\n"
                "eval \"$(" LK_TOOL " hold n)\" || exit\n"
                "eval \"$(" LK_TOOL " -q hold -n m)\"; echo $?\n" LK_TOOL
                " release; echo $?\n" LK_TOOL
                " lock -n n true; echo $?\n" LK_TOOL " release $other",
                NULL);
}

CHECK_GROUP(start, tooling_stop)
