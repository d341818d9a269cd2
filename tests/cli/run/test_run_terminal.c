/* SPDX-License-Identifier: MIT */

/* At a terminal: the line of a wait, ^C, ^Z, and whose the terminal is. */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

static tool_how terminal;
static tool_how shell;

static int start(void **state)
{
    static const char *const prompt[] = {"PS1=$ ", "ENV=", NULL};

    if (tooling_start(state) != 0)
        return -1;
    terminal = (tool_how){.url = server_url(redis), .has_terminal = true};
    shell = (tool_how){.url = server_url(redis),
                       .has_terminal = true,
                       .program = "sh",
                       .env = prompt};
    return 0;
}

TOOLING_TEST(who_waits_has_one_line_that_is_drawn_again)
{
    tool *holder = tool_start(&how, "lock", "n", "-c",
                              "echo child=$$; exec sleep 100", NULL);
    pid_t child = (pid_t)tool_wait_number(holder, "child", SOON_MS);
    tool *t = tool_start(&terminal, "lock", "n", "echo", "mine", NULL);

    tool_wait_out(t, "\rwaiting for n: position 1 of 1, held by ", SOON_MS);
    tool_wait_out(t, " - ^C gives up\033[K\rwaiting for n: ", SOON_MS);
    assert_null(strchr(tool_out(t), '\n'));
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_non_null(strstr(tool_out(t), "\r\033[Kmine\r\n"));
}

TOOLING_TEST(a_key_ends_the_wait)
{
    tool *holder = tool_start(&how, "lock", "n", "-c",
                              "echo child=$$; exec sleep 100", NULL);
    tool *t;

    (void)tool_wait_number(holder, "child", SOON_MS);
    t = tool_start(&terminal, "lock", "n", "echo", "ran", NULL);
    tool_wait_out(t, "waiting for n", SOON_MS);
    tool_type(t, "\003");
    assert_int_equal(tool_wait(t, SOON_MS), 130);
    assert_null(strstr(tool_out(t), "ran"));
}

TOOLING_TEST(a_key_ends_the_command)
{
    tool *t = tool_start(&terminal, "lock", "n", "-c",
                         "trap 'echo told; exit 5' INT; echo child=$$; "
                         "while :; do sleep 0.02; done",
                         NULL);

    (void)tool_wait_number(t, "child", SOON_MS);
    tool_type(t, "\003");
    assert_int_equal(tool_wait(t, SOON_MS), 5);
    assert_non_null(strstr(tool_out(t), "told"));
}

TOOLING_TEST(the_command_reads_the_terminal)
{
    tool *t =
        tool_start(&terminal, "lock", "n", "-c",
                   "stty -echo; echo ready; read word; echo got $word", NULL);

    tool_wait_out(t, "ready", SOON_MS);
    tool_type(t, "something\r");
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_non_null(strstr(tool_out(t), "got something"));
}

/* Programs that show how far they are look whether they are in front. */
TOOLING_TEST(the_command_is_in_the_foreground_from_the_start)
{
    tool *t = tool_start(&terminal, "lock", "n", "-c",
                         "echo mine=$(ps -o pgid= -p $$ | tr -d ' '); "
                         "echo tool=$(ps -o pgid= -p $PPID | tr -d ' '); "
                         "echo front=$(ps -o tpgid= -p $$ | tr -d ' ')",
                         NULL);
    long mine;

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    mine = tool_wait_number(t, "mine", SOON_MS);
    assert_int_equal(tool_wait_number(t, "front", SOON_MS), mine);
    assert_true(tool_wait_number(t, "tool", SOON_MS) != mine);
}

/* One line of a shell with job control, and its answer. */
static tool *prompt(void)
{
    tool *t = tool_start(&shell, "-mi", NULL);

    tool_wait_out(t, "$ ", SOON_MS);
    return t;
}

static void type_line(tool *t, const char *line)
{
    tool_type(t, line);
    tool_type(t, "\r");
}

TOOLING_TEST(a_job_is_stopped_and_goes_on)
{
    tool *t = prompt();

    type_line(t, LK_TOOL " lock n -- sh -c 'echo chi\"\"ld=$$; read a; "
                         "echo got-$a; exit 7'");
    (void)tool_wait_number(t, "child", SOON_MS);
    tool_type(t, "\032");
    tool_wait_out(t, "unless it goes on within", SOON_MS);
    type_line(t, "echo at-\"\"prompt");
    tool_wait_out(t, "at-prompt", SOON_MS);
    type_line(t, "fg");
    type_line(t, "word");
    tool_wait_out(t, "got-word", SOON_MS);
    type_line(t, "echo co\"\"de=$?;");
    assert_int_equal(tool_wait_number(t, "code", SOON_MS), 7);
}

TOOLING_TEST(a_wait_is_stopped_and_goes_on)
{
    tool *holder = tool_start(&how, "lock", "n", "-c",
                              "echo child=$$; exec sleep 100", NULL);
    pid_t child = (pid_t)tool_wait_number(holder, "child", SOON_MS);
    tool *t = prompt();

    type_line(t, LK_TOOL " lock n echo \"mi\"ne");
    tool_wait_out(t, "waiting for n", SOON_MS);
    tool_type(t, "\032");
    type_line(t, "echo at-\"\"prompt");
    tool_wait_out(t, "at-prompt", SOON_MS);
    assert_int_equal(kill(child, SIGTERM), 0);
    type_line(t, "fg");
    tool_wait_out(t, "mine", SOON_MS);
}

/* Nothing is renewed while it stands still; the guardian ends it. */
TOOLING_TEST(a_job_that_is_stopped_for_too_long_is_ended)
{
    char line[256];
    tool *t = prompt();
    pid_t child;

    /* One process: a shell that has just begun another one by vfork() cannot
       be stopped while that is. */
    (void)snprintf(line, sizeof(line),
                   LK_TOOL " lock --lease=%ums n -- sh -c 'trap \"\" TERM; "
                           "echo chi\"\"ld=$$; exec sleep 100'",
                   wait_lease_ms());
    type_line(t, line);
    child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    tool_type(t, "\032");
    tool_wait_gone(child, SOON_MS);
    type_line(t, "fg");
    tool_wait_out(t, "is lost", SOON_MS);
    type_line(t, "echo co\"\"de=$?;");
    assert_int_equal(tool_wait_number(t, "code", SOON_MS), 74);
}

TOOLING_TEST(a_key_ends_a_script_and_not_only_the_command)
{
    tool *t = prompt();

    type_line(t, "sh -c '" LK_TOOL
                 " lock n sh -c \"echo chi\"ld=\\$\\$\"; exec sleep 100\"; "
                 "echo went\"\"-on'; echo co\"\"de=$?;");
    (void)tool_wait_number(t, "child", SOON_MS);
    tool_type(t, "\003");
    type_line(t, "echo aft\"\"er");
    tool_wait_out(t, "after", SOON_MS);
    assert_null(strstr(tool_out(t), "went-on"));
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

/* In a script the terminal is the script's; the command gets it by asking. */
TOOLING_TEST(a_command_in_a_script_reads_the_terminal)
{
    tool *t = prompt();

    type_line(t, "sh -c '" LK_TOOL " lock n sh -c \"echo rea\"dy\"; read a; "
                 "echo got-\\$a\"'");
    tool_wait_out(t, "ready", SOON_MS);
    type_line(t, "word");
    tool_wait_out(t, "got-word", SOON_MS);
}

CHECK_GROUP(start, tooling_stop)
