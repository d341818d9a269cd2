/* SPDX-License-Identifier: MIT */

/* The command line: commands, options, help, and how a wrong one is refused. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tool.h"

CHECK_TEST(the_version_is_the_library_s)
{
    static const char plain[] = "latchkey " LK_PROJECT_VERSION "\n";
    static const char json[] = "{\"version\":\"" LK_PROJECT_VERSION "\"}\n";

    assert_tool(NULL, 0, plain, "", "--version", NULL);
    assert_tool(NULL, 0, plain, "", "-V", NULL);
    assert_tool(NULL, 0, plain, "", "--version", NULL);
    assert_tool(NULL, 0, json, "", "--version", "--json", NULL);
    assert_tool(NULL, 0, json, "", "--json", "--version", NULL);
    assert_tool(NULL, 0, json, "", "--version", "--json", NULL);
    assert_tool(NULL, 0, json, "", "--json", "-V", NULL);
    assert_tool(NULL, 0, json, "", "-o", "json", "-V", NULL);
}

CHECK_TEST(help_lists_commands_options_and_exit_codes)
{
    static const char *const ways[] = {"--help", "-h", "help"};

    for (size_t i = 0; i < 3; i++) {
        assert_tool(NULL, 0, "\nOperate:\n  break         end somebody", NULL,
                    ways[i], NULL);
        assert_tool(NULL, 0, "-u, --url URL", NULL, ways[i], NULL);
        assert_tool(NULL, 0, "75  not obtained", NULL, ways[i], NULL);
    }
}

/* The list is what somebody who types the name alone wants. */
CHECK_TEST(no_command_lists_the_commands_and_is_64)
{
    assert_tool(NULL, 64, "\nRun a command:\n  lock          run a command", "",
                NULL);
    assert_tool(NULL, 64, "\nSet up:\n  demo", "", "--json", NULL);
}

CHECK_TEST(a_command_explains_itself)
{
    assert_tool(NULL, 0, "usage: latchkey config [--explain] [url]", NULL,
                "help", "config", NULL);
    assert_tool(NULL, 0, "usage: latchkey config [--explain] [url]", NULL,
                "config", "--help", NULL);
    assert_tool(NULL, 0, "usage: latchkey config [--explain] [url]", NULL,
                "config", "-qh", NULL);
}

CHECK_TEST(a_wrong_command_line_is_64)
{
    assert_tool(NULL, 64, "", "no command 'nothing'\n  to run a command under",
                "nothing", NULL);
    assert_tool(NULL, 64, "", "did you mean 'help'?", "hepl", NULL);
    assert_tool(NULL, 64, "", "no command 'nothing'", "help", "nothing", NULL);
    assert_tool(NULL, 64, "", "there is no option --ulr; did you mean --url?",
                "--ulr", "x", "config", "url", NULL);
    assert_tool(NULL, 64, "", "there is no option -Z", "config", "-Z", NULL);
    assert_tool(NULL, 64, "", "--json takes no value", "config", "url",
                "--json=1", NULL);
    assert_tool(NULL, 64, "", "--url wants a value: URL", "config", "--url",
                NULL);
    assert_tool(NULL, 64, "", "it has to be auto|always|never", "--color",
                "blue", "config", "url", NULL);
    assert_tool(NULL, 64, "", "'b' is too much: config [--explain] [url]",
                "config", "url", "b", NULL);
}

/* As consul and other programs of Go write them. A script that meant something
   else than help must not end with 0. */
CHECK_TEST(long_options_with_one_dash_are_refused)
{
    static const char *const words[] = {"-service-name=3", "-X=3"};

    assert_tool(NULL, 64, "",
                "'-verbose' has one dash; did you mean --verbose?", "lock",
                "-verbose", "n", "true", NULL);
    assert_tool(NULL, 64, "", "'-url=x' has one dash; did you mean --url?",
                "-url=x", "ls", NULL);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_tool(NULL, 64, "", "'; long options have two dashes", "lock",
                    words[i], "n", "true", NULL);
    assert_tool(NULL, 64, "", "'-hq' is not understood at 'h'", "-hq", NULL);
}

/* Of consul lock, with one dash and with two, and of etcdctl. */
CHECK_TEST(options_of_other_tools_are_known)
{
    static const char *const words[][2] = {
        {"-n=3", "there is no option -n: how many may hold it at once is "
                 "`latchkey semaphore -p N` here"},
        {"-try=15s", "-try: how long to wait is -w TIME"},
        {"-try", "-try: how long to wait is -w TIME"},
        {"--try=15s", "--try: how long to wait is -w TIME"},
        {"--nowait", "not to wait is --nonblock here"},
        {"-no-wait", "not to wait is --nonblock here"},
        {"-name=x", "others are shown is --why TEXT"},
        {"-child-exit-code", "the command's own here: leave it out"},
        {"-pass-stdin", "standard input here: leave it out"},
        {"-shell=false", "only with -c: leave it out"},
        {"-http-addr=h", "the server is --url URL"},
        {"--endpoints", "the server is --url URL"},
        {"-token=t", "LATCHKEY_PASSWORD"},
        {"--user=u:p", "a user stands in the URL here, redis://USER:@HOST"},
        {"--cacert=f", "LATCHKEY_TLS_CA_FILE here"},
        {"-monitor-retry=3", "ridden out while the lease lasts: leave it out"},
        {"--fd", "a shell holds NAME by lines=$(latchkey hold NAME) && eval"},
        {"--fcntl", "no file is locked here: leave it out"},
        {"-session-ttl=15s", "-session-ttl: it is --lease TIME here"},
        {"-lock-delay=15s", "when its lease has ended: leave it out"},
        {"-datacenter", "the URL says where the server is: leave it out"},
        {"--ttl=10", "no option --ttl: it is --lease TIME here"},
        {"--ttl", "no option --ttl: it is --lease TIME here"},
        {"--every=5m", "no option --every: once in each period"},
        {"--once", "is --at-least TIME, of a TIME shorter than the period"},
        {"--limit=3",
         "how many may hold it at once is `latchkey semaphore -p N`"},
        {"--watch", "no option --watch"},
        {"--leese=10", "no option --leese; did you mean --lease?"},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_tool(NULL, 64, "", words[i][1], "lock", words[i][0], "n", "true",
                    NULL);
    assert_tool(NULL, 64, "", "-n: how many may hold it at once is -p N here",
                "semaphore", "-n=3", "n", "true", NULL);
    assert_tool(NULL, 64, "", "did you mean 'ls'?", "session", NULL);
    assert_tool(NULL, 64, "", "flock's -u is `latchkey release`", "lock", "-u",
                "9", NULL);
    assert_tool(NULL, 64, "", "etcdctl's elect -l is `latchkey who NAME`",
                "leader", "-l", "n", NULL);
    assert_tool(NULL, 64, "", "--lease is 'n'; it has to be a time", "lock",
                "-l", "n", "n", "true", NULL);
    assert_tool(NULL, 64, "", "no option --port: where it listens is --listen",
                "serve", "--port", "80", NULL);
    assert_tool(NULL, 64, "", "--watch: `latchkey top` draws the list again",
                "ls", "--watch", NULL);
    assert_tool(NULL, 64, "", "no option --bind: where it listens is --listen",
                "metrics", "--bind=::1", NULL);
    assert_tool(NULL, 64, "", "no option --ttl; did", "config", "--ttl=1",
                NULL);
    assert_tool(NULL, 64, "", "the server is --url URL", "--endpoints=h", "ls",
                NULL);
}

/* Where flock has options and a name, a command stands first here. */
CHECK_TEST(what_stands_before_the_command_is_told_where_to_stand)
{
    static const char behind[] = " of every command; one of a command stands "
                                 "behind it, as in `latchkey lock -n NAME`";

    assert_tool(NULL, 64, "", behind, "--nb", "lock", "n", "true", NULL);
    assert_tool(NULL, 64, "", behind, "-n", "lock", "n", "true", NULL);
    assert_tool(NULL, 64, "", "there is no option -Z\n  `", "lock", "-Z", "n",
                "true", NULL);
    assert_tool(NULL, 64, "",
                "there is no command 'file'\n"
                "  to run a command under a name: latchkey lock NAME -- "
                "COMMAND",
                "file", "true", NULL);
}

/* Users of other tools are told what it is called here. */
CHECK_TEST(words_of_other_tools_are_known)
{
    static const char *const words[][2] = {{"run", "lock"},
                                           {"sem", "semaphore"},
                                           {"elect", "leader"},
                                           {"list", "ls"},
                                           {"stat", "metrics"},
                                           {"url", "config url"},
                                           {"version", "--version"},
                                           {"unlock", "release"},
                                           {"tryLock", "lock"},

                                           {"forceUnlock", "break"},
                                           {"isLocked", "who"},
                                           {"status", "who"},
                                           {"extend", "renew"},
                                           {"once", "flight"},
                                           {"writeLock", "write"},
                                           {"fair", "lock"},
                                           {"countDownLatch", "latch"},
                                           {"steal", "break"},
                                           {"delete", "forget"},
                                           {"health", "doctor"},
                                           {"shared", "read"},
                                           {"web", "serve"},
                                           {"dashboard", "serve"},
                                           {"monitor", "watch"},
                                           {"getLock", "lock"},
                                           {"tryAcquire", "semaphore"},
                                           {"get", "ls"},
                                           {"describe", "who"},
                                           {"explain", "help"},
                                           {"lslocks", "ls"},
                                           {"remainTimeToLive", "who"}};
    char wanted[64];

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        (void)snprintf(wanted, sizeof(wanted), "; did you mean '%s'?",
                       words[i][1]);
        assert_tool(NULL, 64, "", wanted, words[i][0], "n", NULL);
    }
    assert_tool(NULL, 64, "", "no command 'kv'", "kv", NULL);
    assert_tool(NULL, 64, "", "no option --lease-time; did you mean --lease?",
                "lock", "--lease-time", "5", "n", "true", NULL);
    assert_tool(
        NULL, 64, "",
        "a shell itself: lines=$(latchkey hold NAME) && eval \"$lines\" || "
        "exit",
        "lock", "9", NULL);
}

CHECK_TEST(options_stand_before_and_behind_the_command)
{
    static const char json[] =
        "{\"url\":\"redis://h:6379/0\",\"from\":\"--url\"}\n";

    assert_tool(NULL, 0, json, "", "--json", "--url=redis://h", "config", "url",
                NULL);
    assert_tool(NULL, 0, json, "", "config", "url", "-uredis://h", "--json",
                NULL);
    assert_tool(NULL, 0, json, "", "-u", "redis://h", "config", "url", "--json",
                NULL);
    assert_tool(NULL, 0, json, "", "config", "url", "-uredis://h", "-o", "json",
                NULL);
    assert_tool(NULL, 0, "redis://h:6379/0\n", "", "config", "url",
                "-uredis://h", NULL);
}

enum { LETTERS = 128, NAME_SIZE = 32 };

/* Reads "  -x, --name" at the start of a line of help. */
static bool
option_of_line(const char *line, char *ret_letter, char ret_name[NAME_SIZE])
{
    return sscanf(line, "  -%c, --%31[a-z-]", ret_letter, ret_name) == 2;
}

/* names: what each letter means so far. */
static void letters_learn(const char *command, char names[LETTERS][NAME_SIZE])
{
    tool *t = tool_start(NULL, "help", command, NULL);
    const char *line;

    assert_int_equal(tool_wait(t, 10000), 0);
    for (line = tool_out(t); line != NULL; line = strchr(line, '\n')) {
        char name[NAME_SIZE];
        char letter = 0;
        char *known;

        line += *line == '\n';
        if (!option_of_line(line, &letter, name))
            continue;
        known = names[letter & (LETTERS - 1)];
        if (known[0] != '\0' && strcmp(name, known) != 0)
            fail_msg("-%c is --%s, and --%s of %s", letter, known, name,
                     command);
        memcpy(known, name, NAME_SIZE);
    }
    tool_free(t);
}

/* Calls it for each command that there is. */
static void
for_each_command(void (*look)(const char *command, char names[][NAME_SIZE]),
                 char names[][NAME_SIZE])
{
    static char commands[1 << 14];
    char *at = commands;
    char *command;
    tool *all = tool_start(NULL, "__complete", "", NULL);

    assert_int_equal(tool_wait(all, 10000), 0);
    (void)snprintf(commands, sizeof(commands), "%s", tool_out(all));
    tool_free(all);
    assert_non_null(strstr(commands, "lock"));
    while ((command = strsep(&at, "\n")) != NULL && command[0] != '\0') {
        command[strcspn(command, "\t")] = '\0';
        look(command, names);
    }
}

/* A user who knows -w of one command need not look it up for another. */
CHECK_TEST(a_letter_means_the_same_everywhere)
{
    char names[LETTERS][NAME_SIZE] = {""};

    letters_learn(NULL, names); /* those of every command */
    for_each_command(letters_learn, names);
}

static void help_is_narrow(const char *command, char names[][NAME_SIZE])
{
    enum { COLUMNS = 80 };
    tool *t = tool_start(NULL, "help", command, NULL);
    const char *line;

    (void)names;
    assert_int_equal(tool_wait(t, 10000), 0);
    for (line = tool_out(t); line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strcspn(line, "\n") > COLUMNS)
            fail_msg("%s: %s", command, line);
    }
    tool_free(t);
}

/* The begin of a line that stands behind its newline, and the line after it. */
static bool is_example(const char **at)
{
    const bool is_good = strncmp(*at, "  ", 2) == 0 &&
                         strstr(*at, "latchkey ") != NULL &&
                         strstr(*at, "latchkey ") < strchr(*at, '\n');

    *at += strcspn(*at, "\n") + 1;
    return is_good;
}

static void
help_begins_with_examples(const char *command, char names[][NAME_SIZE])
{
    tool *t = tool_start(NULL, "help", command, NULL);
    const char *at;
    int examples = 0;

    (void)names;
    assert_int_equal(tool_wait(t, 10000), 0);
    at = strstr(tool_out(t), "\n\n");
    assert_non_null(at);
    at += 2;
    while (examples < 2 && is_example(&at))
        examples++;
    if (examples < 2 || strncmp(at, "\nusage: ", 8) != 0)
        fail_msg("%s: two examples, then its usage: %s", command, tool_out(t));
    tool_free(t);
}

CHECK_TEST(help_of_a_command_begins_with_two_examples)
{
    for_each_command(help_begins_with_examples, NULL);
}

CHECK_TEST(help_fits_a_terminal)
{
    for_each_command(help_is_narrow, NULL);
}

CHECK_TEST(output_that_does_not_arrive_is_an_error)
{
    const tool_how full = {.out = open("/dev/full", O_WRONLY | O_CLOEXEC)};
    tool_how gone = {.url = "redis://h"};
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)close(ends[0]);
    gone.out = ends[1];
    assert_true(full.out > 0);
    assert_tool(&full, 74, NULL,
                "latchkey: standard output: No space left on device\n", "help",
                NULL);
    assert_tool(&full, 74, NULL,
                "latchkey: standard output: No space left on device\n", "lock",
                "-h", NULL);
    assert_tool(&full, 74, NULL, "No space left on device", "config", "url",
                "-uredis://h", NULL);
    assert_tool(&gone, 74, NULL, "", "config", "url", NULL);
    (void)close(full.out);
    (void)close(ends[1]);
}

CHECK_TEST(a_stream_that_is_closed_is_not_the_server_s)
{
    const tool_how shell = {.program = "sh"};

    assert_tool(&shell, 0, "74\n", "Bad file descriptor", "-c",
                LK_TOOL " config url -u redis://h >&-; echo $?", NULL);
    assert_tool(&shell, 0, "redis://h:6379/0\n", "", "-c",
                LK_TOOL " config url -u redis://h <&- 2>&-", NULL);
}

CHECK_TEST(a_message_shows_no_password_of_a_misplaced_url)
{
    assert_tool(NULL, 64, "", "no command 'redis://@h'", "redis://:pw@h", NULL);
    assert_tool(NULL, 64, "", "no option --redis://", "--redis://:p=w@h", NULL);
    assert_tool(NULL, 64, "", "'redis://@h/1' is too much", "config", "url",
                "-uredis://h", "redis://u:p@w@h/1", NULL);
}
