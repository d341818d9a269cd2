/* SPDX-License-Identifier: MIT */

/* Where the server's password comes from, and who does not get to see it. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/scratch.h"
#include "support/server.h"
#include "support/tool.h"
#include "support/wait.h"

enum { TEXT_SIZE = 256, URL_SIZE = 128 };

static server *redis;
static scratch *folder;
static char
    right_file[TEXT_SIZE]; /* LATCHKEY_PASSWORD_FILE with the right one */

static const char *path_of(char path[TEXT_SIZE], const char *name)
{
    (void)snprintf(path, TEXT_SIZE, "%s/%s", scratch_path(folder), name);
    return path;
}

/* A file of mode 600, and a variable that names it. */
static const char *write_file(char variable[TEXT_SIZE], const char *key,
                              const char *name, const char *text)
{
    char path[TEXT_SIZE];
    FILE *to = fopen(path_of(path, name), "we");

    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(path, 0600), 0);
    assert_in_range(snprintf(variable, TEXT_SIZE, "%s=%s", key, path), 1,
                    TEXT_SIZE - 1);
    return variable;
}

static const char *password_file(char variable[TEXT_SIZE], const char *text)
{
    return write_file(variable, "LATCHKEY_PASSWORD_FILE", "password", text);
}

static int start(NO_STATE)
{
    redis = server_start_tcp(NULL);
    folder = scratch_new();
    if (redis == NULL || folder == NULL)
        return -1;
    freeReplyObject(
        server_command(redis, "ACL SETUSER ann on >hers ~* &* +@all"));
    /* The connection of the test is logged in as it is. */
    freeReplyObject(server_command(redis, "CONFIG SET requirepass right"));
    (void)write_file(right_file, "LATCHKEY_PASSWORD_FILE", "right", "right\n");
    return 0;
}

static int stop(NO_STATE)
{
    server_stop(redis);
    scratch_free(folder);
    return 0;
}

static int end(NO_STATE)
{
    tool_free_all();
    return 0;
}

static void assert_locks(const char *url, const char *const *env)
{
    const tool_how how = {.url = url, .env = env};

    assert_tool(&how, 0, "x\n", "", "lock", "n", "--", "echo", "x", NULL);
}

static void
assert_refused(const char *url, const char *const *env, const char *words)
{
    const tool_how how = {.url = url, .env = env};

    assert_tool(&how, 77, "", words, "lock", "n", "--", "echo", "x", NULL);
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, end)

/* ---- where it comes from ------------------------------------------------ */

TEST(each_source_is_enough)
{
    char config[TEXT_SIZE], line[TEXT_SIZE];
    const char *variable[] = {"LATCHKEY_PASSWORD=right", NULL};
    const char *file[] = {right_file, NULL};
    const char *setting[] = {config, NULL};
    const char *other[] = {"REDISCLI_AUTH=right", NULL};

    (void)snprintf(line, sizeof(line), "password-file = %s\n",
                   strchr(right_file, '=') + 1);
    (void)write_file(config, "LATCHKEY_CONFIG", "config", line);
    assert_locks(server_url(redis), variable);
    assert_locks(server_url(redis), file);
    assert_locks(server_url(redis), setting);
    assert_locks(server_url(redis), other);
}

/* Each right one stands before all that come after it. */
TEST(the_first_source_counts)
{
    char url[URL_SIZE], file[TEXT_SIZE], config[TEXT_SIZE], line[TEXT_SIZE];
    const char *wrong[] = {"LATCHKEY_PASSWORD=wrong", file,
                           "REDISCLI_AUTH=wrong", config, NULL};
    const char *variable[] = {"LATCHKEY_PASSWORD=right", file,
                              "REDISCLI_AUTH=wrong", config, NULL};
    const char *second[] = {right_file, "REDISCLI_AUTH=wrong", config, NULL};
    const char *third[] = {config, "REDISCLI_AUTH=wrong", NULL};

    (void)password_file(file, "wrong\n");
    (void)snprintf(line, sizeof(line), "password-file = %s\n",
                   strchr(file, '=') + 1);
    (void)write_file(config, "LATCHKEY_CONFIG", "config", line);
    (void)snprintf(url, sizeof(url), "redis://:right@127.0.0.1:%u",
                   (unsigned)server_port(redis));
    assert_locks(url, wrong);
    assert_locks(server_url(redis), variable);
    assert_locks(server_url(redis), second);
    assert_refused(server_url(redis), third, ", the password from ");
    assert_refused(server_url(redis), wrong,
                   ", the password from LATCHKEY_PASSWORD");
}

TEST(a_user_in_the_url_goes_with_it)
{
    char url[URL_SIZE];
    const char *hers[] = {"LATCHKEY_PASSWORD=hers", NULL};
    const char *other[] = {"LATCHKEY_PASSWORD=right", NULL};

    (void)snprintf(url, sizeof(url), "redis://ann:@127.0.0.1:%u",
                   (unsigned)server_port(redis));
    assert_locks(url, hers);
    assert_refused(url, other, "the user or the password is wrong");
}

/* Its server has none, and would refuse one. */
TEST(the_private_server_gets_none)
{
    char variable[TEXT_SIZE];
    const char *env[] = {variable, "LATCHKEY_PASSWORD=right", NULL};
    const tool_how how = {.env = env};
    char path[TEXT_SIZE];

    assert_true(snprintf(variable, sizeof(variable),
                         "LATCHKEY_SERVER_DIRECTORY=%s",
                         path_of(path, "private")) < (int)sizeof(variable));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_tool(&how, 0, "x\n", NULL, "lock", "n", "--", "echo", "x", NULL);
    assert_tool(&how, 0, NULL, NULL, "server", "stop", NULL);
}

/* A busy machine may take all the time that completion has. */
static bool is_told(void *how)
{
    tool *t = tool_start(how, "__complete", "who", "ga", NULL);
    bool is_good =
        tool_wait(t, 10000) == 0 && strcmp(tool_out(t), "gate\tlatch\n") == 0;

    tool_free(t);
    return is_good;
}

TEST(completion_has_it_as_well)
{
    const char *env[] = {right_file, NULL};
    tool_how how = {.url = server_url(redis), .env = env};

    assert_tool(&how, 0, NULL, "", "latch", "set", "gate", "2", NULL);
    assert_true(wait_until(is_told, &how, 10000));
}

TEST(an_empty_variable_is_refused)
{
    const char *first[] = {"LATCHKEY_PASSWORD=", NULL};
    const char *last[] = {"REDISCLI_AUTH=", NULL};
    const tool_how how = {.url = server_url(redis), .env = first};
    const tool_how other = {.url = server_url(redis), .env = last};

    assert_tool(&how, 64, "", "LATCHKEY_PASSWORD is set, but empty", "ls",
                NULL);
    assert_tool(&other, 64, "", "REDISCLI_AUTH is set, but empty", "ls", NULL);
}

/* ---- the file ----------------------------------------------------------- */

static void assert_file_refused(const char *variable, const char *words)
{
    const char *env[] = {variable, NULL};
    const tool_how how = {.url = server_url(redis), .env = env};

    assert_tool(&how, 78, "", words, "lock", "n", "--", "echo", "x", NULL);
}

TEST(a_file_has_one_line)
{
    char variable[TEXT_SIZE], text[1100];
    const char *env[] = {variable, NULL};

    (void)password_file(variable, "right");
    assert_locks(server_url(redis), env);
    (void)password_file(variable, "right\r\n");
    assert_locks(server_url(redis), env);
    assert_file_refused(password_file(variable, ""), "it is empty");
    assert_file_refused(password_file(variable, "\n"), "it is empty");
    assert_file_refused(password_file(variable, "\r\n"), "it is empty");
    assert_file_refused(password_file(variable, "right\nleft\n"),
                        "it has several lines");
    memset(text, 'x', 1025);
    text[1025] = '\0';
    assert_file_refused(password_file(variable, text),
                        "it is larger than 1024 bytes");
    text[1024] = '\0';
    (void)password_file(variable, text);
    assert_refused(server_url(redis), env, "the user or the password is wrong");
    assert_file_refused("LATCHKEY_PASSWORD_FILE=/dev/null/password",
                        "the password file of LATCHKEY_PASSWORD_FILE: "
                        "/dev/null/password: Not a directory");
}

TEST(a_file_that_others_may_read_is_refused)
{
    static const mode_t rights[] = {0640, 0620, 0604, 0602, 0610};
    char variable[TEXT_SIZE];
    const char *path;

    (void)password_file(variable, "right\n");
    path = strchr(variable, '=') + 1;
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        assert_int_equal(chmod(path, rights[i]), 0);
        assert_file_refused(variable, "have rights to it\n  chmod 600 /");
    }
    assert_int_equal(chmod(path, 0600), 0);
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_file_refused(variable, "it belongs to user 65534");
    assert_int_equal(unlink(path), 0);
}

/* ---- who does not get to see it ----------------------------------------- */

/* Neither in the environment of a command nor in what the kernel shows of the
   tool's. */
TEST(nobody_finds_it_in_an_environment)
{
    static const char script[] =
        "env; tr '\\0' '\\n' </proc/$PPID/environ; echo seen";
    const char *env[] = {"LATCHKEY_PASSWORD=right", "BESIDE=there", NULL};
    const tool_how how = {.url = server_url(redis), .env = env};
    tool *t = tool_start(&how, "lock", "n", "--", "sh", "-c", script, NULL);

    assert_int_equal(tool_wait(t, 10000), 0);
    assert_non_null(strstr(tool_out(t), "BESIDE=there"));
    assert_non_null(strstr(tool_out(t), "seen"));
    assert_null(strstr(tool_out(t), "right\n"));
    assert_null(strstr(tool_out(t), "LATCHKEY_PASSWORD=r"));
}

static void
assert_silent(const tool_how *how, const char *command, const char *option)
{
    tool *t = tool_start(how, command, option, NULL);

    (void)tool_wait(t, 10000);
    assert_null(strstr(tool_out(t), "s3cret"));
    assert_null(strstr(tool_err(t), "s3cret"));
    tool_free(t);
}

TEST(no_command_tells_it)
{
    static const char *const commands[] = {"config", "url", "ls", "doctor"};
    char file[TEXT_SIZE];
    const char *variable[] = {"LATCHKEY_PASSWORD=s3cret", NULL};
    const char *files[] = {file, NULL};
    const char *other[] = {"REDISCLI_AUTH=s3cret", NULL};
    const char *const *const environments[] = {variable, files, other};

    (void)password_file(file, "s3cret\n");
    for (size_t i = 0; i < 3; i++) {
        const tool_how how = {.url = server_url(redis), .env = environments[i]};

        for (size_t j = 0; j < 4; j++) {
            assert_silent(&how, commands[j], "--verbose");
            assert_silent(&how, commands[j], "--json");
        }
    }
}

TEST(config_tells_whose_it_is)
{
    const char *variable[] = {"LATCHKEY_PASSWORD=right", NULL};
    const char *file[] = {right_file, NULL};
    const tool_how first = {.url = server_url(redis), .env = variable};
    const tool_how second = {.url = server_url(redis), .env = file};

    assert_tool(&first, 0, "password = ***\n    from LATCHKEY_PASSWORD", "",
                "config", "--explain", NULL);
    assert_tool(&second, 0,
                "\"password\":{\"value\":\"***\","
                "\"from\":\"LATCHKEY_PASSWORD_FILE\"}",
                "", "config", "--json", NULL);
}

CHECK_GROUP(start, stop)
