/* SPDX-License-Identifier: MIT */

/* Which server is used, and who said so. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/tool.h"

static char folder[64];
static char file[128];
static char home[160];
static char config[160];

static void write_file(const char *path, const char *text)
{
    FILE *to = fopen(path, "we");

    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
}

static int start(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/lk-config-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(file, sizeof(file), "%s/latchkey/config", folder);
    (void)snprintf(home, sizeof(home), "XDG_CONFIG_HOME=%s", folder);
    (void)snprintf(config, sizeof(config), "LATCHKEY_CONFIG=%s", file);
    *strrchr(file, '/') = '\0';
    if (mkdir(file, 0700) != 0)
        return -1;
    file[strlen(file)] = '/';
    return 0;
}

static int end(void **state)
{
    (void)state;
    (void)unlink(file);
    *strrchr(file, '/') = '\0';
    (void)rmdir(file);
    return rmdir(folder);
}

static void the_first_who_says_something_counts(void **state)
{
    char from[256];
    const char *both[] = {"REDIS_URL=redis://second", home, NULL};
    const char *only[] = {home, NULL};
    const tool_how variables = {.url = "redis://first", .env = both};
    const tool_how second = {.env = both};
    const tool_how third = {.env = only};

    (void)state;
    write_file(file, "# the server\n\n url =  redis://third  \n");
    (void)snprintf(from, sizeof(from), "\"from\":\"%s:3\"}\n", file);
    assert_tool(&variables, 0, "redis://given:6379/0\n", "", "url", "-u",
                "redis://given", NULL);
    assert_tool(&variables, 0, "redis://first:6379/0\n", "", "url", NULL);
    assert_tool(&variables, 0, "\"from\":\"LATCHKEY_URL\"", "", "url", "--json",
                NULL);
    assert_tool(&second, 0, "redis://second:6379/0\n", "", "url", NULL);
    assert_tool(&third, 0, "redis://third:6379/0\n", "", "url", NULL);
    from[strlen(from) - 1] = '\0';
    assert_tool(&third, 0, from, "", "url", "--json", NULL);
}

static void an_empty_variable_says_nothing(void **state)
{
    const char *empty[] = {"REDIS_URL=redis://second", NULL};
    const tool_how how = {.url = "", .env = empty};

    (void)state;
    assert_tool(&how, 0, "redis://second:6379/0\n", "", "url", NULL);
}

static void a_password_is_not_shown(void **state)
{
    const tool_how how = {.url = "redis://app:s3cret@h/2?offline_ms=7s"};

    (void)state;
    assert_tool(&how, 0, "redis://app:***@h:6379/2?offline_ms=7000ms\n", "",
                "url", NULL);
    assert_tool(NULL, 0, "unix://:***@/run/a%20b?db=3\n", "", "url",
                "unix://:s3cret@/run/a%20b?db=3", NULL);
    assert_tool(NULL, 0, "redis://[::1]:6380/0?name=x&interop=redisson\n", "",
                "url", "redis://[::1]:6380?name=x&interop=redisson", NULL);
}

static void what_is_not_understood_is_78(void **state)
{
    const char *env[] = {config, NULL};
    const tool_how how = {.env = env};

    (void)state;
    write_file(file, "url = redis://h\nurk = 1\n");
    assert_tool(&how, 78, "", "config:2: there is no setting 'urk'", "url",
                NULL);
    write_file(file, "redis://h\n");
    assert_tool(&how, 78, "", "config:1: a line is `key = value`", "url", NULL);
    assert_tool(NULL, 78, "", "the URL of the command line: ", "url",
                "gopher://h", NULL);
}

static void config_tells_each_value_and_who_says_so(void **state)
{
    char from[256];
    const char *env[] = {config, "LATCHKEY_SERVER_PROGRAM=valkey", NULL};
    const tool_how how = {.env = env};

    (void)state;
    write_file(file, "url = redis://:s3cret@h\n");
    (void)snprintf(from, sizeof(from),
                   "url = redis://:***@h:6379/0\n    from %s:1\n", file);
    from[strlen(from) - 1] = '\0';
    assert_tool(&how, 0, from, "", "config", "--explain", NULL);
    assert_tool(&how, 0,
                "server-program = valkey\n    from LATCHKEY_SERVER_PROGRAM", "",
                "config", "--explain", NULL);
    assert_tool(&how, 0, "url = redis://x:6379/0\nserver-program = valkey\n",
                "", "config", "-u", "redis://x", NULL);
    assert_tool(&how, 0,
                "{\"url\":{\"value\":\"redis://x:6379/0\","
                "\"from\":\"--url\"},",
                "", "config", "-u", "redis://x", "--json", NULL);
    write_file(file, "url = redis://s3cret@h\n");
    assert_tool(&how, 0, "url = (not understood", "", "config", NULL);
}

/* Another server than the one that was meant is worse than none. */
static void a_file_that_cannot_be_read_is_78(void **state)
{
    const char *env[] = {"LATCHKEY_CONFIG=/tmp", NULL};
    const char *loop[] = {config, NULL};
    const char *typo[] = {"LATCHKEY_CONFIG=/nonexistent", NULL};
    const tool_how how = {.env = env};
    const tool_how around = {.env = loop};
    const tool_how wrong = {.env = typo};

    (void)state;
    assert_tool(&how, 78, "", "/tmp: cannot be read", "url", NULL);
    assert_tool(&wrong, 78, "", "LATCHKEY_CONFIG: /nonexistent: No such file",
                "run", "n", "true", NULL);
    assert_int_equal(symlink(file, file), 0);
    assert_tool(&around, 78, "", "Too many levels", "url", NULL);
}

static void the_private_server_can_be_forbidden(void **state)
{
    const tool_how none = {.url = "none"};

    (void)state;
    assert_tool(&none, 78, "",
                "no server is configured, and LATCHKEY_URL forbids the private",
                "run", "n", "true", NULL);
    assert_tool(&none, 0, "url = none\nserver-program", "", "config", NULL);
    assert_tool(&none, 0, "redis://h:6379/0\n", "", "url", "-uredis://h", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_who_says_something_counts,
                                        start, end),
        cmocka_unit_test(an_empty_variable_says_nothing),
        cmocka_unit_test(a_password_is_not_shown),
        cmocka_unit_test(the_private_server_can_be_forbidden),
        cmocka_unit_test_setup_teardown(what_is_not_understood_is_78, start,
                                        end),
        cmocka_unit_test_setup_teardown(config_tells_each_value_and_who_says_so,
                                        start, end),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_read_is_78, start,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
