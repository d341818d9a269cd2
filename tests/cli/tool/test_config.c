/* SPDX-License-Identifier: MIT */

/* Which server is used, and who said so. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/tool.h"

enum { END_MS = 10000 };

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

static int start(NO_STATE)
{
    (void)umask(022);
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

static int end(NO_STATE)
{
    (void)unlink(file);
    *strrchr(file, '/') = '\0';
    (void)rmdir(file);
    return rmdir(folder);
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, start, end)

TEST(the_first_who_says_something_counts)
{
    char from[256];
    const char *both[] = {"REDIS_URL=redis://second", home, NULL};
    const char *only[] = {home, NULL};
    const tool_how variables = {.url = "redis://first", .env = both};
    const tool_how second = {.env = both};
    const tool_how third = {.env = only};

    write_file(file, "# the server\n\n url =  redis://third  \n");
    (void)snprintf(from, sizeof(from), "\"from\":\"%s:3\"}\n", file);
    assert_tool(&variables, 0, "redis://given:6379/0\n", "", "config", "url",
                "-u", "redis://given", NULL);
    assert_tool(&variables, 0, "redis://first:6379/0\n", "", "config", "url",
                NULL);
    assert_tool(&variables, 0, "\"from\":\"LATCHKEY_URL\"", "", "config", "url",
                "--json", NULL);
    assert_tool(&second, 0, "redis://second:6379/0\n", "", "config", "url",
                NULL);
    assert_tool(&third, 0, "redis://third:6379/0\n", "", "config", "url", NULL);
    from[strlen(from) - 1] = '\0';
    assert_tool(&third, 0, from, "", "config", "url", "--json", NULL);
}

/* It was most often made of another one that is not set. */
CHECK_TEST(an_empty_variable_is_refused)
{
    const char *empty[] = {"REDIS_URL=", NULL};
    const char *second[] = {"REDIS_URL=redis://second", NULL};
    const char *no_file[] = {"LATCHKEY_CONFIG=", NULL};
    const tool_how first = {.url = "", .env = second};
    const tool_how other = {.env = empty};
    const tool_how unused = {.url = "redis://first", .env = empty};
    const tool_how files = {.url = "redis://first", .env = no_file};

    assert_tool(&first, 64, "", "config: LATCHKEY_URL is set, but empty",
                "config", "url", NULL);
    assert_tool(&first, 64, "", "lock: LATCHKEY_URL is set, but empty", "lock",
                "n", "true", NULL);
    assert_tool(&other, 64, "", "REDIS_URL is set, but empty", "config", "url",
                NULL);
    assert_tool(&unused, 0, "redis://first:6379/0\n", "", "config", "url",
                NULL);
    assert_tool(&first, 0, "redis://h:6379/0\n", "", "config", "url",
                "-uredis://h", NULL);
    assert_tool(&files, 64, "", "LATCHKEY_CONFIG is set, but empty", "config",
                "url", NULL);
    assert_tool(&unused, 64, "", "--url is empty", "config", "url",
                "--url=", NULL);
}

CHECK_TEST(a_password_is_not_shown)
{
    const tool_how how = {.url = "redis://app:s3cret@h/2?offline_ms=7s"};

    assert_tool(&how, 0, "redis://app:***@h:6379/2?offline_ms=7000ms\n", "",
                "config", "url", NULL);
    assert_tool(NULL, 0, "unix://:***@/run/a%20b?db=3\n", "", "config", "url",
                "-uunix://:s3cret@/run/a%20b?db=3", NULL);
    assert_tool(NULL, 0, "redis://[::1]:6380/0?name=x&interop=redisson\n", "",
                "config", "url", "-uredis://[::1]:6380?name=x&interop=redisson",
                NULL);
}

/* What a terminal shows, which ends a line in its own way. */
static void
assert_shown(const char *expected, const char *option, const char *url)
{
    static const tool_how how = {.has_terminal = true};
    tool *t = tool_start(&how, "config", "url", option, "-u", url, NULL);
    char shown[1024];
    size_t size = 0;

    assert_int_equal(tool_wait(t, END_MS), 0);
    for (const char *at = tool_out(t); *at != '\0'; at++) {
        assert_true(size + 1 < sizeof(shown));
        if (*at != '\r')
            shown[size++] = *at;
    }
    shown[size] = '\0';
    assert_string_equal(shown, expected);
    tool_free(t);
}

/* On a terminal: a program reads the URL alone. */
CHECK_TEST(it_is_said_what_a_url_means)
{
    static const char *const urls[][2] = {
        {"redis://u:p@h/2",
         "redis://u:***@h:6379/2\n"
         "  server     h:6379\n"
         "  database   2\n"
         "  TLS        no: everybody in between can read and change what is "
         "sent\n"
         "  login      user u, with a password\n"},
        {"rediss://h?tls_verify=none",
         "rediss://h:6379/0?tls_verify=none\n"
         "  server     h:6379\n"
         "  database   0\n"
         "  TLS        yes, but no certificate is checked: everybody in "
         "between can read and change what is sent\n"
         "  login      the default user, no password in the URL\n"},
        {"unix:/r@s?db=3", "unix:///r@s?db=3\n"
                           "  socket     /r@s\n"
                           "  database   3\n"
                           "  login      the default user, no password in the "
                           "URL\n"},
        {"rediss+sentinel://:p@h1,h2:2/m/3?sentinel_user=w",
         "rediss+sentinel://:***@h1:26379,h2:2/m/3?sentinel_user=w\n"
         "  sentinels  h1:26379,h2:2\n"
         "  master     m, as a majority of the sentinels names it\n"
         "  database   3\n"
         "  TLS        yes; the certificate has to be for the host, and from "
         "a CA that is trusted\n"
         "  login      at the servers: the default user, with a password\n"
         "             at the sentinels: user w, no password in the URL\n"},
        {"redis+cluster://n1,n2",
         "redis+cluster://n1:6379,n2:6379\n"
         "  cluster    n1:6379,n2:6379\n"
         "             each of these nodes tells of its masters\n"
         "  TLS        no: everybody in between can read and change what is "
         "sent\n"
         "  login      the default user, no password in the URL\n"},
    };

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
        assert_shown(urls[i][1], "--color=auto", urls[i][0]);
    assert_shown("redis://h:6379/0\n", "--quiet", "redis://h");
}

TEST(what_is_not_understood_is_78)
{
    const char *env[] = {config, NULL};
    const tool_how how = {.env = env};

    write_file(file, "url = redis://h\nurk = 1\n");
    assert_tool(&how, 78, "", "config:2: there is no setting 'urk'", "config",
                "url", NULL);
    write_file(file, "redis://:p=w@h\n");
    assert_tool(&how, 78, "", "there is no setting 'redis://'", "config", "url",
                NULL);
    write_file(file, "redis://h\n");
    assert_tool(&how, 78, "", "config:1: a line is `key = value`", "config",
                "url", NULL);
    assert_tool(NULL, 78, "", "the URL of --url: ", "config", "url",
                "-ugopher://h", NULL);
}

CHECK_TEST(a_scheme_that_is_nearly_one_is_guessed)
{
    static const char *const urls[][2] = {{"redis//h", "redis"},
                                          {"reddis://h", "redis"},
                                          {"redsi://h", "redis"},
                                          {"redisss://h", "rediss"},
                                          {"valky://h", "valkey"}};
    char wanted[96];

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        (void)snprintf(wanted, sizeof(wanted),
                       "its scheme is not known\n  did you mean %s://?",
                       urls[i][1]);
        assert_tool(NULL, 78, "", wanted, "config", "url", "-u", urls[i][0],
                    NULL);
    }
    assert_tool(NULL, 78, "", "write redis://host:port or unix:/path", "config",
                "url", "-ugopher://h", NULL);
    assert_tool(NULL, 78, "", "port", "config", "url", "-uredis://h:x", NULL);
}

TEST(config_tells_each_value_and_who_says_so)
{
    char from[256];
    const char *env[] = {config, "LATCHKEY_SERVER_PROGRAM=valkey", NULL};
    const tool_how how = {.env = env};

    write_file(file, "url = redis://:s3cret@h\n");
    (void)snprintf(from, sizeof(from),
                   "url = redis://:***@h:6379/0\n    from %s:1\n", file);
    from[strlen(from) - 1] = '\0';
    assert_tool(&how, 0, from, "", "config", "--explain", NULL);
    assert_tool(&how, 0,
                "server-program = valkey\n    from LATCHKEY_SERVER_PROGRAM", "",
                "config", "--explain", NULL);
    assert_tool(&how, 0,
                "url = redis://x:6379/0\npassword-file = none\n"
                "sentinel-password-file = none\n"
                "lease = watchdog_ms of the URL, else 30s\nwait = without end\n"
                "server-program = valkey\n"
                "server-directory = ~/.local/state/latchkey\n"
                "tls-ca-file = the system's\ntls-cert-file = none\n"
                "tls-key-file = in tls-cert-file\nprofile = none\n"
                "password = none\nsentinel-password = none\n",
                "", "config", "-u", "redis://x", NULL);
    assert_tool(&how, 0,
                "{\"url\":{\"value\":\"redis://x:6379/0\","
                "\"from\":\"--url\"},",
                "", "config", "-u", "redis://x", "--json", NULL);
    write_file(file, "url = redis://s3cret@h\n");
    assert_tool(&how, 0, "url = (not understood", "", "config", NULL);
}

/* Another server than the one that was meant is worse than none. */
TEST(a_file_that_cannot_be_read_is_78)
{
    const char *env[] = {"LATCHKEY_CONFIG=/tmp", NULL};
    const char *loop[] = {config, NULL};
    const char *typo[] = {"LATCHKEY_CONFIG=/nonexistent", NULL};
    const tool_how how = {.env = env};
    const tool_how around = {.env = loop};
    const tool_how wrong = {.env = typo};

    assert_tool(&how, 78, "", "/tmp: it is not a regular file", "config", "url",
                NULL);
    assert_tool(&wrong, 78, "", "LATCHKEY_CONFIG: /nonexistent: No such file",
                "lock", "n", "true", NULL);
    assert_int_equal(symlink(file, file), 0);
    assert_tool(&around, 78, "", "Too many levels", "config", "url", NULL);
}

TEST(a_broken_file_is_told_of_whatever_counts)
{
    const char *env[] = {home, NULL};
    const tool_how how = {.url = "redis://h", .env = env};

    write_file(file, "url redis://meant\n");
    assert_tool(&how, 78, "", "config:1: a line is `key = value`", "config",
                "url", NULL);
    assert_tool(&how, 78, "", "config:1: a line is `key = value`", "config",
                "url", "-uredis://h", NULL);
}

/* Whoever can write to it chooses the server, and the program that is run. */
TEST(a_file_that_others_can_write_is_refused)
{
    const char *env[] = {home, NULL};
    const tool_how how = {.env = env};

    write_file(file, "url = redis://h\n");
    for (mode_t others = 020; others != 0; others = others == 020 ? 02 : 0) {
        assert_int_equal(chmod(file, 0600 | others), 0);
        assert_tool(&how, 78, "", "others may write to it\n  chmod go-w ",
                    "config", "url", NULL);
    }
    assert_int_equal(chmod(file, 0644), 0);
    assert_tool(&how, 0, "redis://h:6379/0\n", "", "config", "url", NULL);
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(file, 65534, 65534), 0);
    assert_tool(&how, 78, "", "it belongs to user 65534, neither to you nor",
                "config", "url", NULL);
}

TEST(a_pipe_in_its_place_holds_nobody_up)
{
    const char *env[] = {config, NULL};
    const tool_how how = {.env = env};

    assert_int_equal(mkfifo(file, 0600), 0);
    assert_tool(&how, 78, "", "it is not a regular file", "config", "url",
                NULL);
}

/* With too little memory for its line it was an empty one. */
TEST(a_file_of_any_size_is_no_empty_one)
{
    const char *env[] = {home, NULL};
    const tool_how how = {.env = env};

    write_file(file, "url = redis://h\n");
    assert_int_equal(truncate(file, (off_t)1 << 36), 0);
    assert_tool(&how, 78, "", "it is larger than 65536 bytes", "config", "url",
                NULL);
    assert_int_equal(truncate(file, 100), 0);
    assert_tool(&how, 78, "", "it is not text", "config", "url", NULL);
}

/* The system's file may hold a password for root alone. */
TEST(a_file_for_others_counts_only_where_it_is_needed)
{
    const char *env[] = {home, NULL};
    const tool_how how = {.env = env};
    const tool_how said = {.url = "redis://h", .env = env};

    if (geteuid() == 0)
        skip(); /* root may read it */
    write_file(file, "url = redis://meant\n");
    assert_int_equal(chmod(file, 0), 0);
    assert_tool(&how, 78, "", "config: Permission denied", "config", "url",
                NULL);
    assert_tool(&said, 0, "redis://h:6379/0\n", "", "config", "url", NULL);
}

CHECK_TEST(the_private_server_can_be_forbidden)
{
    const tool_how none = {.url = "none"};

    assert_tool(&none, 78, "",
                "no server is configured, and LATCHKEY_URL forbids the private",
                "lock", "n", "true", NULL);
    assert_tool(&none, 0, "url = none\npassword-file", "", "config", NULL);
    assert_tool(&none, 0, "redis://h:6379/0\n", "", "config", "url",
                "-uredis://h", NULL);
}
