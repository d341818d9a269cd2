/* SPDX-License-Identifier: MIT */

/* A hold without a process: acquired, renewed and released by a shell. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

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

static void a_shell_holds_it_between_its_commands(NO_STATE)
{
    assert_tool(&shell, 0, "75\n0\n0\n74\n", NULL, "-c",
                "eval \"$($tool acquire n --lease 10m --export)\"\n"
                "$tool -q run -n n true; echo $?\n"
                "$tool renew; echo $?\n"
                "$tool release; echo $?\n"
                "$tool release; echo $?\n",
                NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

/* Nobody renews what was handed over with a short lease. */
static void one_that_had_to_wait_has_its_whole_lease(NO_STATE)
{
    static const char *const kinds[][2] = {{"-l30s", "-l1h"},
                                           {"--fair", "--fair"},
                                           {"--write", "--read"},
                                           {"--read", "--write"},
                                           {"--sem=1", "--sem=1"}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        tool *holder = tool_start(&how, "lock", kinds[i][0], "n", "-c",
                                  "echo in; exec sleep 100", NULL);
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
static void an_export_that_fails_ends_the_script(NO_STATE)
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

static void a_hold_that_has_ended_is_not_called_lost_work(NO_STATE)
{
    assert_tool(&shell, 74, "",
                "latchkey release: this hold of lock 'n' has ended: "
                "released before",
                "-c",
                "hold=$($tool acquire n -l1m) && $tool renew $hold && "
                "$tool release $hold && $tool release $hold",
                NULL);
}

static void any_name_survives_the_shell(NO_STATE)
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
static void a_shell_may_hold_one_within_another(NO_STATE)
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
static void a_hold_that_is_lost_is_left_as_well(NO_STATE)
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

static void one_that_is_not_obtained_leaves_those_around_it(NO_STATE)
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
static void an_eval_fails_as_the_tool_does(NO_STATE)
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
static void what_a_shell_never_goes_back_to_is_forgotten(NO_STATE)
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
    assert_goes_back(program, "$($tool acquire --sem 2 n -l1h --export)",
                     "$($tool release --export)");
    assert_goes_back(program,
                     "$(cd / && $tool acquire --sem 2 n -l1h --export)",
                     "$(cd / && $tool release --export)");
}

static void every_shell_is_known_in_its_substitutions(NO_STATE)
{
    static const char *const programs[] = {"bash", "dash"};

    assert_is_known("zsh");
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        assert_is_known(programs[i]);
        assert_goes_back(programs[i],
                         "$(cd / && $tool acquire --sem 2 n -l1h --export)",
                         "$(cd / && $tool release --export; true)");
        assert_goes_back(
            programs[i],
            "$($tool acquire --pid $$ --sem 2 n -l1h --export | cat)",
            "$($tool release --pid $$ --export | cat)");
    }
}

static void a_shell_that_is_not_there_is_refused(NO_STATE)
{
    assert_tool(&how, 64, NULL, "--pid 1: there is no such process", "acquire",
                "n", "-l1m", "--pid", "1", NULL);
}

/* What the shell that calls a script holds is not the script's to give back. */
static void a_script_leaves_what_its_caller_has(NO_STATE)
{
    assert_tool(&shell, 0, "none\n75\n", NULL, "-c",
                "eval \"$($tool acquire n -l1h --export)\" || exit\n"
                "sh -c 'eval \"$($tool acquire m -l1h --export)\" || exit\n"
                "eval \"$($tool release --export)\"\n"
                "echo ${LATCHKEY_HOLD-none}'\n"
                "$tool -q lock -n n true; echo $?",
                NULL);
}

static void every_kind_can_be_acquired(NO_STATE)
{
    static const char *const kinds[] = {"--fair", "--read", "--write",
                                        "--sem=2", "--wait=1"};
    char line[256];

    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(line, sizeof(line),
                       "hold=$($tool acquire %s k%zu -l 1m) && "
                       "$tool renew \"$hold\" && $tool renew \"$hold\" && "
                       "$tool release \"$hold\"",
                       kinds[i], i);
        assert_tool(&shell, 0, "", "", "-c", line, NULL);
    }
}

static void a_lease_can_be_made_longer(NO_STATE)
{
    tool *t = tool_start(&how, "acquire", "n", "--lease", "10", NULL);
    char hold[1400];

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_true(server_integer(redis, "PTTL n") <= 10000);
    (void)snprintf(hold, sizeof(hold), "%s", tool_out(t));
    *strchr(hold, '\n') = '\0';
    assert_tool(&how, 0, "", "", "renew", "--lease", "1h", hold, NULL);
    assert_true(server_integer(redis, "PTTL n") > 3500000);
    assert_tool(&how, 0, "{\"name\":\"n\",\"fence\":", "", "renew", "--json",
                hold, NULL);
}

static void without_a_lease_it_is_refused(NO_STATE)
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
static void a_release_of_nothing_says_why(NO_STATE)
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

static void what_is_held_is_not_obtained(NO_STATE)
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

static void it_ends_with_its_lease(NO_STATE)
{
    assert_int_equal(tool_code(&how, "acquire", "n", "-l1s", NULL), 0);
    assert_int_equal(tool_code(&how, "run", "-w10", "n", "true", NULL), 0);
}

/* Whoever asks later finds the process that ran it; that one may be gone. */
static void it_says_which_process_ran_it(NO_STATE)
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
static void a_long_reason_makes_room_for_the_caller(NO_STATE)
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
static void a_hold_that_cannot_be_written_is_given_back(NO_STATE)
{
    tool_how full = how;

    full.out = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_tool(&full, 74, NULL, "given back", "acquire", "n", "-l1m", NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
    (void)close(full.out);
}

static void a_signal_ends_the_wait(NO_STATE)
{
    tool *t;

    assert_int_equal(tool_code(&how, "acquire", "n", "-l1m", NULL), 0);
    t = tool_start(&how, "acquire", "n", "-l1m", NULL);
    tool_wait_err(t, "waiting for n", SOON_MS);
    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 143);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOOLING_TEST(an_eval_fails_as_the_tool_does),
        TOOLING_TEST(a_shell_holds_it_between_its_commands),
        TOOLING_TEST(one_that_had_to_wait_has_its_whole_lease),
        TOOLING_TEST(an_export_that_fails_ends_the_script),
        TOOLING_TEST(a_hold_that_has_ended_is_not_called_lost_work),
        TOOLING_TEST(any_name_survives_the_shell),
        TOOLING_TEST(a_shell_may_hold_one_within_another),
        TOOLING_TEST(a_hold_that_is_lost_is_left_as_well),
        TOOLING_TEST(one_that_is_not_obtained_leaves_those_around_it),
        TOOLING_TEST(what_a_shell_never_goes_back_to_is_forgotten),
        TOOLING_TEST(every_shell_is_known_in_its_substitutions),
        TOOLING_TEST(a_shell_that_is_not_there_is_refused),
        TOOLING_TEST(a_script_leaves_what_its_caller_has),
        TOOLING_TEST(every_kind_can_be_acquired),
        TOOLING_TEST(it_says_which_process_ran_it),
        TOOLING_TEST(a_long_reason_makes_room_for_the_caller),
        TOOLING_TEST(a_lease_can_be_made_longer),
        TOOLING_TEST(without_a_lease_it_is_refused),
        TOOLING_TEST(a_release_of_nothing_says_why),
        TOOLING_TEST(what_is_held_is_not_obtained),
        TOOLING_TEST(it_ends_with_its_lease),
        TOOLING_TEST(a_hold_that_cannot_be_written_is_given_back),
        TOOLING_TEST(a_signal_ends_the_wait),
    };

    return cmocka_run_group_tests(tests, start, tooling_stop);
}
