/* SPDX-License-Identifier: MIT */

/* What shells are told of a word that is being typed, and a real bash. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/scratch.h"
#include "support/tool.h"
#include "support/wait.h"

/* ---- from the tables ---------------------------------------------------- */

static void commands_are_told_but_not_those_for_shells(void **state)
{
    (void)state;
    assert_tool(NULL, 0, "\nurl\tshow which server is used", "", "__complete",
                "", NULL);
    assert_tool(NULL, 0,
                "url\tshow which server is used, without the "
                "password\n",
                "", "__complete", "-q", "u", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "__", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "nothing", "", NULL);
}

static void options_are_those_of_the_command_and_of_all(void **state)
{
    (void)state;
    assert_tool(NULL, 0,
                "--quick\tsome seconds instead of half a minute\n"
                "--quiet\tsay nothing but errors\n",
                "", "__complete", "demo", "--qui", NULL);
    assert_tool(NULL, 0, "--foreground\t", "", "__complete", "run", "-", NULL);
    assert_tool(NULL, 0, "--url\t", "", "__complete", "run", "-", NULL);
    assert_tool(NULL, 0, "--help\t", "", "__complete", "run", "x", "--h", NULL);
}

static void values_are_told_where_they_are_words(void **state)
{
    static const char words[] = "always\t\n";

    (void)state;
    assert_tool(NULL, 0, words, "", "__complete", "--color", "al", NULL);
    assert_tool(NULL, 0, "--color=always\t\n", "", "__complete", "url",
                "--color=al", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "--url", "", NULL);
    assert_tool(NULL, 0, "url\t", "", "__complete", "help", "u", NULL);
    assert_tool(NULL, 0, "stop\t\n", "", "__complete", "server", "sto", NULL);
}

static void the_rest_is_left_to_the_shell(void **state)
{
    (void)state;
    assert_tool(NULL, 0, ":commands\n", "", "__complete", "run", "x", "", NULL);
    assert_tool(NULL, 0, ":commands\n", "", "__complete", "run", "x", "--", "-",
                NULL);
    assert_tool(NULL, 0, ":files\n", "", "__complete", "run", "-w", "2", "x",
                "make", "-", NULL);
    assert_tool(NULL, 0, ":commands\n", "", "__complete", "run", "-nw2", "x",
                "ma", NULL);
}

/* ---- names -------------------------------------------------------------- */

static void hold(locking *f, lk_client *client, const char *name)
{
    (void)locking_hold(locking_lock(f, client, name));
}

static void names_are_the_server_s(void **state)
{
    locking *f = *state;
    const tool_how how = {.url = server_url(f->server)};
    lk_client *client = locking_open(f, NULL);

    hold(f, client, "orders:1");
    hold(f, client, "others");
    hold(f, client, "evil\033[2J");
    assert_tool(&how, 0, "orders:1\tlock\n", "", "__complete", "run", "or",
                NULL);
    assert_tool(&how, 0, "others\tlock\n", "", "__complete", "run", "-n", "oth",
                NULL);
    assert_tool(&how, 0, "", "", "__complete", "run", "e", NULL);
    assert_tool(&how, 0, "", "", "__complete", "run", "*", NULL);
    assert_tool(NULL, 0, "orders:1\tlock\n", "", "__complete", "-u",
                server_url(f->server), "run", "or", NULL);
}

static void a_private_server_is_asked_but_not_started(void **state)
{
    scratch *home = scratch_new();
    char variable[96];
    const char *const env[] = {variable, NULL};
    const tool_how how = {.env = env};
    tool *t;

    (void)state;
    assert_non_null(home);
    (void)snprintf(variable, sizeof(variable), "XDG_RUNTIME_DIR=%s",
                   scratch_path(home));
    assert_tool(&how, 0, "", "", "__complete", "run", "or", NULL);
    assert_tool(&how, 0, "", "", "__complete", "-u", "local:", "run", "", NULL);
    assert_tool(&how, 75, NULL, NULL, "server", "status", NULL);
    t = tool_start(&how, "lock", "orders", "--", "sh", "-c",
                   "echo begun; sleep 60", NULL);
    tool_wait_out(t, "begun", 10000);
    assert_tool(&how, 0, "orders\tlock\n", "", "__complete", "run", "or", NULL);
    tool_free(t);
    assert_tool(&how, 0, NULL, NULL, "server", "stop", NULL);
    scratch_free(home);
}

static size_t lines(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

static void of_many_names_there_are_some(void **state)
{
    static const char make[] =
        "for i = 1, 3000 do redis.call('HSET', 'name' .. i, "
        "'01234567-89ab-cdef-0123-456789abcdef:1', 1) end return 1";
    locking *f = *state;
    const tool_how how = {.url = server_url(f->server)};
    tool *t;

    assert_int_equal(server_integer(f->server, "EVAL %s 0", make), 1);
    t = tool_start(&how, "__complete", "run", "nam", NULL);
    assert_int_equal(tool_wait(t, 5000), 0);
    assert_int_equal(lines(tool_out(t)), 200);
    tool_free(t);
}

/* ---- time --------------------------------------------------------------- */

/* What a busy machine adds to the 200 ms is not the tool's. */
static void assert_prompt(const tool_how *how)
{
    const uint64_t began = wait_now_ms();

    assert_tool(how, 0, "", "", "__complete", "run", "or", NULL);
    assert_true(wait_now_ms() - began < wait_scaled_ms(450));
}

static void it_does_not_wait_for_a_server(void **state)
{
    locking *f = *state;
    const tool_how frozen = {.url = server_url(f->server)};
    const tool_how refusing = {.url = "redis://127.0.0.1:1"};
    const tool_how far = {.url = "redis://192.0.2.1"};
    const tool_how nowhere = {.url = "unix:/nowhere"};

    server_freeze(f->server);
    assert_prompt(&frozen);
    server_thaw(f->server);
    assert_prompt(&refusing);
    assert_prompt(&far);
    assert_prompt(&nowhere);
}

/* ---- bash --------------------------------------------------------------- */

static tool *bash_start(const locking *f)
{
    static char path[4096];
    static const char *env[] = {path, "TERM=dumb", NULL};
    const tool_how how = {.program = "bash",
                          .url = server_url(f->server),
                          .env = env,
                          .has_terminal = true};
    tool *t;

    (void)snprintf(path, sizeof(path), "PATH=%.*s:%s",
                   (int)(strrchr(LK_TOOL, '/') - LK_TOOL), LK_TOOL,
                   getenv("PATH"));
    t = tool_start(&how, "--norc", "--noprofile", "-i", NULL);
    tool_type(t, "PS1='% '; source '" LK_SOURCE_DIR
                 "/completions/latchkey.bash'; echo re''ady\n");
    tool_wait_out(t, "ready", 10000);
    return t;
}

/* What the line has become is what bash would run. */
static void assert_completed(tool *t, const char *typed, const char *completed)
{
    tool_type(t, typed);
    tool_type(t, "\t");
    tool_wait_out(t, completed, 10000);
    tool_type(t, "\025"); /* kills the line */
}

static void bash_completes_commands_options_and_names(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    tool *t = bash_start(f);

    hold(f, client, "orders:4711:a b");
    assert_completed(t, "latchkey dem", "latchkey demo ");
    assert_completed(t, "latchkey demo --quic", "demo --quick ");
    assert_completed(t, "latchkey --color=al", "--color=always ");
    assert_completed(t, "latchkey run -n ord", "-n orders:4711:a\\ b ");
    assert_completed(t, "latchkey run -w 2 orders:", "-w 2 orders:4711:a\\ b ");
    assert_completed(t, "latchkey run -w 3 orders:47", "3 orders:4711:a\\ b ");
    assert_completed(t, "latchkey run x mkfif", "run x mkfifo ");
    tool_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_told_but_not_those_for_shells),
        cmocka_unit_test(options_are_those_of_the_command_and_of_all),
        cmocka_unit_test(values_are_told_where_they_are_words),
        cmocka_unit_test(the_rest_is_left_to_the_shell),
        cmocka_unit_test_setup_teardown(names_are_the_server_s, locking_setup,
                                        locking_teardown),
        cmocka_unit_test(a_private_server_is_asked_but_not_started),
        cmocka_unit_test_setup_teardown(of_many_names_there_are_some,
                                        locking_setup, locking_teardown),
        cmocka_unit_test_setup_teardown(it_does_not_wait_for_a_server,
                                        locking_setup, locking_teardown),
        cmocka_unit_test_setup_teardown(
            bash_completes_commands_options_and_names, locking_setup,
            locking_teardown),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
