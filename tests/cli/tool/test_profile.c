/* SPDX-License-Identifier: MIT */

/* Sections of the configuration, of which one is chosen. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "support/server.h"
#include "support/tool.h"
#include "support/wait.h"

enum { TEXT_SIZE = 256, SCRIPT_SIZE = 1024 };

static server *redis;
static scratch *folder;
static char path[TEXT_SIZE];
static char config[TEXT_SIZE + 32]; /* LATCHKEY_CONFIG with it */
static char home[TEXT_SIZE + 32];   /* XDG_CONFIG_HOME with another one */

static const char two[] = "url = redis://head\n"
                          "server-program = valkey-server\n"
                          "[profile first]\n"
                          "url = redis://first\n"
                          "\n"
                          "  [profile  second.1 ]  \n"
                          "url = redis://second\n"
                          "tls-ca-file = /second.crt\n";

static void write_file(const char *text)
{
    FILE *to = fopen(path, "we");

    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static int start(NO_STATE)
{
    redis = server_start(NULL);
    folder = scratch_new();
    if (redis == NULL || folder == NULL)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/config", scratch_path(folder));
    (void)snprintf(config, sizeof(config), "LATCHKEY_CONFIG=%s", path);
    (void)snprintf(home, sizeof(home), "XDG_CONFIG_HOME=%.200s",
                   scratch_path(folder));
    return 0;
}

static int stop(NO_STATE)
{
    server_stop(redis);
    scratch_free(folder);
    return 0;
}

CHECK_TEST(a_profile_beats_the_head)
{
    const char *env[] = {config, NULL};
    const char *chosen[] = {config, "LATCHKEY_PROFILE=first", NULL};
    const tool_how none = {.env = env};
    const tool_how first = {.env = chosen};

    write_file(two);
    assert_tool(&none, 0, "redis://head:6379/0\n", "", "config", "url", NULL);
    assert_tool(&first, 0, "redis://first:6379/0\n", "", "config", "url", NULL);
    assert_tool(&first, 0, "redis://second:6379/0\n", "", "--profile",
                "second.1", "config", "url", NULL);
    assert_tool(&none, 0, "redis://first:6379/0\n", "", "config", "url",
                "--profile=first", NULL);
    assert_tool(&first, 0, "server-program = valkey-server\n    from ", "",
                "config", "--explain", NULL);
}

CHECK_TEST(variables_and_options_beat_a_profile)
{
    const char *env[] = {config, "LATCHKEY_PROFILE=first", NULL};
    const tool_how both = {.url = "redis://variable", .env = env};

    write_file(two);
    assert_tool(&both, 0, "redis://variable:6379/0\n", "", "config", "url",
                NULL);
    assert_tool(&both, 0, "redis://option:6379/0\n", "", "config", "url",
                "--url=redis://option", NULL);
}

/* Wherever the section of its name stands once more. */
CHECK_TEST(the_last_line_of_a_profile_counts)
{
    const char *env[] = {config, "LATCHKEY_PROFILE=a", NULL};
    const tool_how how = {.env = env};

    write_file("[profile a]\nurl = redis://one\n[profile b]\n"
               "url = redis://other\n[profile a]\nurl = redis://two\n"
               "[profile b]\nurl = redis://other\n");
    assert_tool(&how, 0, "redis://two:6379/0\n", "", "config", "url", NULL);
    assert_tool(&how, 0, "a\t\nb\t\n", "", "__complete", "--profile", "", NULL);
}

CHECK_TEST(a_profile_that_is_not_there_is_78)
{
    const char *env[] = {config, NULL};
    const char *empty[] = {config, "LATCHKEY_PROFILE=", NULL};
    const tool_how how = {.url = "redis://h", .env = env};
    const tool_how nothing = {.env = empty};

    write_file(two);
    assert_tool(&how, 78, "",
                "there is no profile 'third', which --profile names\n"
                "  there are: first|second.1",
                "config", "url", "--profile=third", NULL);
    assert_tool(&nothing, 64, "", "LATCHKEY_PROFILE is set, but empty",
                "config", "url", NULL);
    assert_tool(&how, 64, "", "--profile is empty", "config", "url",
                "--profile=", NULL);
    write_file("url = redis://h\n");
    assert_tool(&how, 78, "", "the configuration has none", "lock",
                "--profile=first", "n", "true", NULL);
}

/* Also one that is not chosen. */
CHECK_TEST(what_is_not_understood_is_78)
{
    static const struct {
        const char *text, *words;
    } wrong[] = {
        {"[profile a\n", "config:1: a section is [profile NAME]"},
        {"\n[server a]\n", "config:2: a section is [profile NAME]"},
        {"[profile]\n", "config:1: a section is [profile NAME]"},
        {"[\n", "config:1: a section is [profile NAME]"},
        {"[profile ]\n", "a profile's name has letters"},
        {"[profile a b]\n", "a profile's name has letters"},
        {"[profile a|b]\n", "a profile's name has letters"},
        {"[profile a]\nurk = 1\n", "config:2: there is no setting 'urk'"},
    };
    const char *env[] = {config, NULL};
    const tool_how how = {.url = "redis://h", .env = env};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        write_file(wrong[i].text);
        assert_tool(&how, 78, "", wrong[i].words, "config", "url", NULL);
    }
}

CHECK_TEST(a_long_name_is_refused)
{
    char text[128];
    const char *env[] = {config, NULL};
    const tool_how how = {.url = "redis://h", .env = env};

    (void)snprintf(text, sizeof(text), "[profile %063d]\n", 1);
    write_file(text);
    assert_tool(&how, 0, NULL, "", "config", "url", NULL);
    (void)snprintf(text, sizeof(text), "[profile %064d]\n", 1);
    write_file(text);
    assert_tool(&how, 78, "", "a profile's name has letters", "config", "url",
                NULL);
}

/* As many as there is room for are told of, and each can be chosen. */
CHECK_TEST(there_may_be_many)
{
    char text[16000];
    size_t used = 0;
    const char *env[] = {config, NULL};
    const tool_how how = {.env = env};
    tool *t;

    for (int i = 0; i < 400; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "[profile p%d]\nurl=redis://h%d\n", i, i);
    write_file(text);
    assert_tool(&how, 0, "redis://h399:6379/0\n", "", "config", "url",
                "--profile=p399", NULL);
    t = tool_start(&how, "config", "url", "--profile=q", NULL);
    assert_int_equal(tool_wait(t, 10000), 78);
    assert_non_null(strstr(tool_err(t), "there are: p0|p1|"));
    assert_non_null(strstr(tool_err(t), "|p224|p225\n"));
    tool_free(t);
}

CHECK_TEST(config_tells_which_is_chosen)
{
    char from[TEXT_SIZE + 64];
    const char *env[] = {config, "LATCHKEY_PROFILE=second.1", NULL};
    const tool_how how = {.env = env};

    write_file(two);
    (void)snprintf(from, sizeof(from),
                   "url = redis://second:6379/0\n    from "
                   "%s:7, profile second.1\n   ",
                   path);
    assert_tool(&how, 0, from, "", "config", "--explain", NULL);
    assert_tool(&how, 0, "profile = second.1\n    from LATCHKEY_PROFILE", "",
                "config", "--explain", NULL);
    assert_tool(&how, 0,
                "\"profile\":{\"value\":\"first\",\"from\":\"--profile\"}", "",
                "config", "--json", "--profile=first", NULL);
}

static bool has_namespaces(const tool_how *unshare)
{
    return tool_code(unshare, "-Urm", "setpriv", "--bounding-set=-all", "mount",
                     "--version", NULL) == 0 &&
           tool_code(unshare, "-Urm", "mount", "-t", "tmpfs", "none", "/etc",
                     NULL) == 0;
}

/* Writes the user's file, and a script that runs the tool with the other one as
   the system's. before: what the script does last. */
static void
two_files(char script[SCRIPT_SIZE], const char *user, const char *before)
{
    char folders[TEXT_SIZE];

    (void)snprintf(folders, sizeof(folders), "%.200s/latchkey",
                   scratch_path(folder));
    if (mkdir(folders, 0700) != 0)
        assert_int_equal(errno, EEXIST);
    (void)snprintf(script, SCRIPT_SIZE,
                   "mount -t tmpfs none /etc && mkdir /etc/latchkey && "
                   "cp '%s' /etc/latchkey/config && printf '%s' >'%s/config' "
                   "&& %s '" LK_TOOL "' \"$@\"",
                   path, user, folders, before);
}

CHECK_TEST(a_profile_of_the_system_beats_the_user_s_head)
{
    char script[SCRIPT_SIZE];
    const char *env[] = {home, NULL};
    const tool_how how = {.program = "unshare", .env = env};

    if (!has_namespaces(&how))
        skip();
    write_file(two);
    two_files(script,
              "url = redis://user\\n[profile second.1]\\n"
              "url = redis://own\\n",
              "exec");
    assert_tool(&how, 0, "redis://user:6379/0\n", "", "-Urm", "sh", "-c",
                script, "sh", "config", "url", NULL);
    assert_tool(&how, 0, "redis://first:6379/0\n", "", "-Urm", "sh", "-c",
                script, "sh", "config", "url", "--profile=first", NULL);
    assert_tool(&how, 0, "redis://own:6379/0\n", "", "-Urm", "sh", "-c", script,
                "sh", "config", "url", "--profile=second.1", NULL);
}

/* It may have a profile of this name, with another server. */
CHECK_TEST(a_system_s_file_that_may_not_be_read_may_have_it)
{
    char script[SCRIPT_SIZE];
    const char *env[] = {home, NULL};
    const tool_how how = {.program = "unshare", .env = env};

    if (!has_namespaces(&how))
        skip();
    write_file(two);
    two_files(script,
              "url = redis://user\\n[profile first]\\ntls-ca-file = /ca\\n",
              "chmod 0 /etc/latchkey/config && exec setpriv "
              "--bounding-set=-all");
    assert_tool(&how, 0, "redis://user:6379/0\n", "", "-Urm", "sh", "-c",
                script, "sh", "config", "url", NULL);
    assert_tool(&how, 78, "", "/etc/latchkey/config: Permission denied", "-Urm",
                "sh", "-c", script, "sh", "config", "url", "--profile=first",
                NULL);
    assert_tool(&how, 78, "", "/etc/latchkey/config: Permission denied", "-Urm",
                "sh", "-c", script, "sh", "config", "url", "--profile=none",
                NULL);
    assert_tool(&how, 0, "redis://h:6379/0\n", "", "-Urm", "sh", "-c", script,
                "sh", "config", "url", "--profile=first", "--url=redis://h",
                NULL);
}

CHECK_TEST(completion_offers_them)
{
    const char *env[] = {config, NULL};
    const tool_how how = {.env = env};

    write_file(two);
    assert_tool(&how, 0, "first\t\nsecond.1\t\n", "", "__complete", "--profile",
                "", NULL);
    assert_tool(&how, 0, "--profile=second.1\t\n", "", "__complete", "lock",
                "--profile=s", NULL);
}

/* A busy machine may take all the time that completion has: see test_complete. */
static bool is_told(void *how)
{
    tool *t =
        tool_start(how, "__complete", "--profile", "here", "who", "ga", NULL);
    bool is_good =
        tool_wait(t, 10000) == 0 && strcmp(tool_out(t), "gate\tlatch\n") == 0;

    tool_free(t);
    return is_good;
}

CHECK_TEST(completion_asks_the_server_of_the_profile)
{
    char text[TEXT_SIZE];
    const char *env[] = {config, NULL};
    tool_how how = {.env = env};
    const tool_how direct = {.url = server_url(redis), .env = env};

    (void)snprintf(text, sizeof(text),
                   "url = unix:/nowhere\n[profile here]\nurl = %s\n",
                   server_url(redis));
    write_file(text);
    assert_tool(&direct, 0, NULL, "", "latch", "set", "gate", "2", NULL);
    assert_true(wait_until(is_told, &how, 10000));
}

CHECK_GROUP(start, stop)
