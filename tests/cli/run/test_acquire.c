/* SPDX-License-Identifier: MIT */

/* A hold without a process: acquired, renewed and released by a shell. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 10000, HOLD_SIZE = 1400 };

static tool_how shell;

static int start(void **state)
{
    static const char *const variables[] = {"tool=" LK_TOOL, NULL};

    if (tooling_start(state) != 0)
        return -1;
    shell =
        (tool_how){.url = server_url(redis), .program = "sh", .env = variables};
    return 0;
}

TOOLING_TEST(a_shell_holds_it_between_its_commands)
{
    assert_tool(&shell, 0, "75\n0\n0\n74\n", NULL, "-c",
                "eval \"$($tool acquire n --lease 10m --export)\"\n"
                "$tool -q lock -n n true; echo $?\n"
                "eval \"$($tool renew --export)\"; echo $?\n"
                "$tool release; echo $?\n"
                "$tool release; echo $?\n",
                NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

/* Nobody renews what was handed over with a short lease. */
TOOLING_TEST(one_that_had_to_wait_has_its_whole_lease)
{
    static const char *const kinds[][2] = {{"-l30s", "-l1h"},
                                           {"--fair", "--fair"},
                                           {"--exclusive", "--shared"},
                                           {"--shared", "--exclusive"},
                                           {"-p1", "-p1"}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        tool *holder =
            tool_start(&how,
                       strcmp(kinds[i][0], "-p1") == 0 ? "semaphore" : "lock",
                       kinds[i][0], "n", "-c", "echo in; exec sleep 100", NULL);
        tool *t;

        tool_wait_out(holder, "in\n", SOON_MS);
        t = tool_start(&how, "acquire", "-l1h", kinds[i][1], "n", NULL);
        tool_wait_err(t, "waiting for n: ", SOON_MS);
        (void)kill(tool_pid(holder), SIGTERM);
        assert_int_equal(tool_wait(t, SOON_MS), 0);
        assert_tool(&how, 0, "lease left 59:", "", "who", "n", NULL);
        tool_free(t);
        tool_free(holder);
        server_flush(redis);
    }
}

/* An eval of nothing would be a success. */
TOOLING_TEST(an_export_that_fails_ends_the_script)
{
    static const char *const ways[] = {"-n n -l1m", "-n n -l1m -E0", "n -l0",
                                       "n -l1m --nonsense", "n -l1m -w0.2"};
    char line[256];

    assert_int_equal(tool_code(&how, "acquire", "n", "-l1m", NULL), 0);
    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(line, sizeof(line),
                       "set -e; LATCHKEY_HOLD=old; "
                       "eval \"$($tool acquire --export %s)\"; echo went on",
                       ways[i]);
        assert_tool(&shell,
                    i == 1             ? 1
                    : i == 2 || i == 3 ? 64
                                       : 75,
                    "", NULL, "-c", line, NULL);
    }
    assert_tool(&shell, 0, "69 none\n", NULL, "-c",
                "LATCHKEY_HOLD=old; eval \"$($tool -u unix:/nonexistent/s "
                "acquire n -w1 -l1m --export)\"; "
                "echo $? ${LATCHKEY_HOLD-none}",
                NULL);
}

TOOLING_TEST(a_hold_that_has_ended_is_not_called_lost_work)
{
    assert_tool(&shell, 74, "",
                "latchkey release: this hold of lock 'n' has ended: "
                "released or renewed before",
                "-c",
                "hold=$($tool acquire n -l1m) && hold=$($tool renew $hold) && "
                "$tool release $hold && $tool release $hold",
                NULL);
}

TOOLING_TEST(any_name_survives_the_shell)
{
    assert_tool(&shell, 0, "it's  $(a) \"b\"\n0\n", "", "-c",
                "eval \"$($tool acquire \"it's  \\$(a) \\\"b\\\"\" --lease 10m "
                "--export)\"\n"
                "echo \"$LATCHKEY_NAME\"\n"
                "eval \"$($tool release --export)\"; "
                "echo 0${LATCHKEY_HOLD-}${LATCHKEY_NAME-}${LATCHKEY_FENCE-}\n",
                NULL);
}

/* The last one first; what `hold` keeps meanwhile is not forgotten. */
TOOLING_TEST(a_shell_may_hold_one_within_another)
{
    assert_tool(&shell, 0, "1 1 1\n1 1 0\n1 0 0\n0 0 0\n64\n", NULL, "-c",
                "held() { $tool -q lock -n $1 true && a=0 || a=1; }\n"
                "put() { held n; x=$a; held m; y=$a; held k; echo $x $y $a; }\n"
                "eval \"$($tool hold n)\" || exit\n"
                "eval \"$($tool acquire m -l1h --export)\" || exit\n"
                "eval \"$($tool acquire \"k\" -l1h --export)\" || exit; put\n"
                "eval \"$($tool release --export)\"; put\n"
                "eval \"$($tool release --export)\"; put\n"
                "eval \"$($tool release --export)\"; put\n"
                "$tool release; echo $?",
                NULL);
}

/* One that was lost is not in the way of those around it. */
TOOLING_TEST(a_hold_that_is_lost_is_left_as_well)
{
    assert_tool(&shell, 0, "", "an operator has ended this hold of lock 'm'",
                "-c",
                "eval \"$($tool acquire n -l1h --export)\" || exit\n"
                "eval \"$($tool acquire m -l1h --export)\" || exit\n"
                "$tool break --yes --now m >/dev/null 2>&1\n"
                "eval \"$($tool release --export)\"\n"
                "eval \"$($tool release --export)\"\n"
                "$tool lock -n n true",
                NULL);
}

TOOLING_TEST(one_that_is_not_obtained_leaves_those_around_it)
{
    assert_tool(&shell, 0, "busy\n", NULL, "-c",
                "other=$($tool acquire m -l1h) || exit\n"
                "eval \"$($tool acquire n -l1h --export)\" || exit\n"
                "eval \"$($tool -q acquire m -n -l1h --export)\" || echo busy\n"
                "eval \"$($tool release --export)\"\n"
                "$tool lock -n n true",
                NULL);
}

/* An eval of nothing succeeds, and the script would go on. */
TOOLING_TEST(an_eval_fails_as_the_tool_does)
{
    assert_tool(&shell, 0, "64\n0\n74\n74\n", NULL, "-c",
                "eval \"$($tool renew --export)\"; echo $?\n"
                "eval \"$($tool acquire n -l1h --export)\" || exit\n"
                "eval \"$($tool renew --export)\"; echo $?\n"
                "$tool break --yes --now n >/dev/null 2>&1\n"
                "eval \"$($tool renew --export)\"; echo $?\n"
                "eval \"$($tool release --export)\"; echo $?",
                NULL);
}

/* Else no program could be started any more, one day. */
TOOLING_TEST(what_a_shell_never_goes_back_to_is_forgotten)
{
    assert_tool(&shell, 0, "few\n", NULL, "-c",
                "for turn in $(seq 50); do\n"
                "eval \"$($tool acquire n -l1h --export)\" || exit\n"
                "$tool release || exit; done\n"
                "[ ${#LATCHKEY_OUTER} -lt 4300 ] && echo few",
                NULL);
}

static bool has_program(const char *name)
{
    char line[64];

    (void)snprintf(line, sizeof(line), "command -v %s >/dev/null", name);
    return system(line) == 0; /* NOLINT(cert-env33-c) */
}

/* Where the substitution is more than a command, the tool's parent is what the shell
   has forked for it. */
static void
assert_goes_back(const char *program, const char *acquire, const char *release)
{
    tool_how in = shell;
    char line[1024];

    if (!has_program(program))
        return;
    in.program = program;
    (void)snprintf(line, sizeof(line),
                   "trap 'echo end' EXIT\n"
                   "eval \"%s\" || exit\n"
                   "eval \"%s\" || exit\n"
                   "eval \"%s\"\n"
                   "[ -n \"$LATCHKEY_HOLD\" ] && echo one\n"
                   "eval \"%s\"\n"
                   "echo ${LATCHKEY_HOLD-none}",
                   acquire, acquire, release, release);
    assert_tool(&in, 0, "one\nnone\nend\n", "", "-c", line, NULL);
}

/* Without a process of its own for the substitution, which the shell waits for: zsh
   5.9 may do that for ever, whatever the process is. */
static void assert_is_known(const char *program)
{
    assert_goes_back(program, "$($tool acquire -p2 n -l1h --export)",
                     "$($tool release --export)");
    assert_goes_back(program, "$(cd / && $tool acquire -p2 n -l1h --export)",
                     "$(cd / && $tool release --export)");
}

TOOLING_TEST(every_shell_is_known_in_its_substitutions)
{
    static const char *const programs[] = {"bash", "dash"};

    assert_is_known("zsh");
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        assert_is_known(programs[i]);
        assert_goes_back(programs[i],
                         "$(cd / && $tool acquire -p2 n -l1h --export)",
                         "$(cd / && $tool release --export; true)");
        assert_goes_back(programs[i],
                         "$($tool acquire --pid $$ -p2 n -l1h --export | cat)",
                         "$($tool release --pid $$ --export | cat)");
    }
}

TOOLING_TEST(a_shell_that_is_not_there_is_refused)
{
    assert_tool(&how, 64, NULL, "--pid 1: there is no such process", "acquire",
                "n", "-l1m", "--pid", "1", NULL);
}

/* What the shell that calls a script holds is not the script's to give back. */
TOOLING_TEST(a_script_leaves_what_its_caller_has)
{
    assert_tool(&shell, 0, "none\n75\n", NULL, "-c",
                "eval \"$($tool acquire n -l1h --export)\" || exit\n"
                "sh -c 'eval \"$($tool acquire m -l1h --export)\" || exit\n"
                "eval \"$($tool release --export)\"\n"
                "echo ${LATCHKEY_HOLD-none}'\n"
                "$tool -q lock -n n true; echo $?",
                NULL);
}

TOOLING_TEST(every_kind_can_be_acquired)
{
    static const char *const kinds[] = {"--fair", "--shared", "--exclusive",
                                        "-p2", "--wait=1"};
    char line[256];

    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(line, sizeof(line),
                       "hold=$($tool acquire %s k%zu -l 1m) && "
                       "hold=$($tool renew \"$hold\") && "
                       "hold=$($tool renew \"$hold\") && "
                       "$tool release \"$hold\"",
                       kinds[i], i);
        assert_tool(&shell, 0, "", "", "-c", line, NULL);
    }
}

/* The line that the tool has written. */
static void line_of(tool *t, char hold[HOLD_SIZE])
{
    (void)snprintf(hold, HOLD_SIZE, "%s", tool_out(t));
    hold[strcspn(hold, "\n")] = '\0';
}

/* What was written before is worth nothing any more: neither renews nor ends it. */
TOOLING_TEST(the_line_that_was_written_last_is_the_hold)
{
    assert_tool(&shell, 0, "74\n74\n1\n0\nless\n0\n74\n", NULL, "-c",
                "eval \"$($tool acquire n --lease 10m --export)\"\n"
                "old=$LATCHKEY_HOLD fence=$LATCHKEY_FENCE\n"
                "eval \"$($tool renew --export)\"\n"
                "$tool -q renew \"$old\"; echo $?\n"
                "$tool -q release \"$old\"; echo $?\n"
                "$tool ls | grep -c '^n '\n"
                "new=$($tool renew); echo $?\n"
                "[ $fence -lt $LATCHKEY_FENCE ] && echo less\n"
                "$tool release $new; echo $?\n"
                "$tool -q release; echo $?\n",
                NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

TOOLING_TEST(of_two_renewals_at_once_one_has_it)
{
    tool *both[2];
    char hold[HOLD_SIZE];
    int codes[2];

    both[0] = tool_start(&how, "acquire", "n", "-l1h", NULL);
    assert_int_equal(tool_wait(both[0], SOON_MS), 0);
    line_of(both[0], hold);
    for (int i = 0; i < 2; i++)
        both[i] = tool_start(&how, "renew", hold, NULL);
    for (int i = 0; i < 2; i++)
        codes[i] = tool_wait(both[i], SOON_MS);
    assert_int_equal(codes[0] + codes[1], 74);
    line_of(both[codes[0] == 0 ? 0 : 1], hold);
    assert_tool(&how, 0, "", "", "release", hold, NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

/* The shell may be at work still: the hold is not given back. */
TOOLING_TEST(a_renewal_that_cannot_be_written_leaves_it_held)
{
    tool_how full = how;
    tool *t = tool_start(&how, "acquire", "n", "-l1h", NULL);
    char hold[HOLD_SIZE];

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    line_of(t, hold);
    full.out = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_tool(&full, 74, NULL, "it ends with its lease", "renew", hold, NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 1);
    (void)close(full.out);
}

TOOLING_TEST(a_lease_can_be_made_longer)
{
    tool *t = tool_start(&how, "acquire", "n", "--lease", "10", NULL);
    char hold[HOLD_SIZE];

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_true(server_integer(redis, "PTTL n") <= 10000);
    line_of(t, hold);
    t = tool_start(&how, "renew", "--lease", "1h", hold, NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    line_of(t, hold);
    assert_true(server_integer(redis, "PTTL n") > 3500000);
    assert_tool(&how, 0, "{\"name\":\"n\",\"fence\":", "", "renew", "--json",
                hold, NULL);
}

TOOLING_TEST(without_a_lease_it_is_refused)
{
    assert_tool(&how, 64, "", "give --lease TIME, of at least 1s", "acquire",
                "n", NULL);
    assert_tool(&how, 64, "", "which hold? LATCHKEY_HOLD is not set", "renew",
                NULL);
    assert_tool(&how, 64, "", "not a hold", "renew", "nonsense", NULL);
    assert_tool(&how, 64, "", "not a hold", "release", "lock 999 n x", NULL);
    assert_int_equal(server_integer(redis, "DBSIZE"), 0);
}

/* The most likely reason is said: the lines of acquire or hold were not
   evaluated, or a name was given. */
TOOLING_TEST(a_release_of_nothing_says_why)
{
    assert_tool(&how, 64, "",
                "neither LATCHKEY_HOLD nor LATCHKEY_KEEPER is set: was what "
                "acquire or hold wrote evaluated?",
                "release", NULL);
    assert_tool(&how, 64, "",
                "the text of the hold is empty: `acquire` has written none",
                "release", "", NULL);
    assert_tool(&shell, 64, "", "latchkey renew: the text of the hold is empty",
                "-c", "LATCHKEY_HOLD= $tool renew", NULL);
    assert_tool(&how, 64, "",
                "release takes no NAME: it ends what this shell holds. "
                "Somebody else's: latchkey break NAME",
                "release", "n", NULL);
    assert_tool(&shell, 64, "", "what `hold` took is renewed by its keeper",
                "-c", "LATCHKEY_KEEPER=1:1 $tool renew", NULL);
}

TOOLING_TEST(what_is_held_is_not_obtained)
{
    char wait[32];

    (void)snprintf(wait, sizeof(wait), "-w%ums", wait_scaled_ms(2000));
    assert_int_equal(tool_code(&how, "acquire", "n", "-l1h", NULL), 0);
    assert_tool(&how, 75, "", "lock 'n' is not obtained", "acquire", "-n", "n",
                "-l1m", NULL);
    assert_tool(&how, 0, "", NULL, "acquire", "-nE0", "n", "-l1m", NULL);
    assert_tool(&how, 75, "", "waiting for n: ", "acquire", wait, "n", "-l1m",
                NULL);
}

TOOLING_TEST(it_ends_with_its_lease)
{
    assert_int_equal(tool_code(&how, "acquire", "n", "-l1s", NULL), 0);
    assert_int_equal(tool_code(&how, "lock", "-w10", "n", "true", NULL), 0);
}

/* Whoever asks later finds the process that ran it; that one may be gone. */
TOOLING_TEST(it_says_which_process_ran_it)
{
    char why[64];

    (void)snprintf(why, sizeof(why), ", pid %d (", (int)getpid());
    assert_tool(&how, 0, NULL, "", "acquire", "n", "--lease", "10m", NULL);
    assert_tool(&how, 0, why, "", "who", "n", NULL);
    assert_tool(&how, 0, "    why   by ", "", "who", "n", NULL);
    assert_tool(&how, 0, NULL, "", "acquire", "m", "--lease", "10m", "--why",
                "deploy 4.2", NULL);
    assert_tool(&how, 0, "    why   deploy 4.2; by ", "", "who", "m", NULL);
}

/* The caller is told whole, and no character is cut in two: with one byte more
   before them, the others would be cut. */
TOOLING_TEST(a_long_reason_makes_room_for_the_caller)
{
    char why[302] = "x", pid[64];

    for (size_t i = 1; i < sizeof(why) - 1; i += 2)
        memcpy(why + i, "\xc3\xa4", 2);
    why[sizeof(why) - 1] = '\0';
    (void)snprintf(pid, sizeof(pid), ", pid %d (", (int)getpid());
    for (size_t skipped = 0; skipped < 2; skipped++) {
        const char *name = skipped == 0 ? "n" : "m";

        assert_tool(&how, 0, NULL, "", "acquire", name, "--lease", "10m",
                    "--why", why + skipped, NULL);
        assert_tool(&how, 0, "\xc3\xa4; by ", "", "who", name, NULL);
        assert_tool(&how, 0, pid, "", "who", name, NULL);
    }
}

/* Nobody could renew or release what nobody has got. */
TOOLING_TEST(a_hold_that_cannot_be_written_is_given_back)
{
    tool_how full = how;

    full.out = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_tool(&full, 74, NULL, "given back", "acquire", "n", "-l1m", NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
    (void)close(full.out);
}

TOOLING_TEST(a_signal_ends_the_wait)
{
    tool *t;

    assert_int_equal(tool_code(&how, "acquire", "n", "-l1m", NULL), 0);
    t = tool_start(&how, "acquire", "n", "-l1m", NULL);
    tool_wait_err(t, "waiting for n", SOON_MS);
    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 143);
}

CHECK_GROUP(start, tooling_stop)
