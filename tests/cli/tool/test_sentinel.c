/* SPDX-License-Identifier: MIT */

/* The tool with a master that sentinels name. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/rights.h"
#include "support/scratch.h"
#include "support/sentinels.h"
#include "support/socket.h"
#include "support/tool.h"
#include "support/wait.h"

enum { LONG_MS = 60000 };

static sentinels *group;

static int start(NO_STATE)
{
    group = sentinels_start();
    return group != NULL ? 0 : -1;
}

static int stop(NO_STATE)
{
    tool_free_all();
    sentinels_stop(group);
    return 0;
}

/* Holds "n" until end_name(). */
static tool *hold_name(const tool_how *how)
{
    tool *t = tool_start(how, "lock", "n", "--", "sh", "-c",
                         "echo held; exec sleep 1000", NULL);

    tool_wait_out(t, "held", LONG_MS);
    return t;
}

static void end_name(tool *holder)
{
    assert_int_equal(kill(tool_pid(holder), SIGTERM), 0);
    (void)tool_wait(holder, LONG_MS);
    tool_free(holder);
}

CHECK_TEST(a_command_runs_under_a_lock_of_the_master)
{
    const tool_how how = {.url = group->url};

    /* The sentinels may have named it for less than three seconds. */
    assert_tool(&how, 0, "held\n", NULL, "lock", "n", "--", "echo", "held",
                NULL);
    assert_int_equal(server_integer(group->servers[0], "EXISTS latchkey:{n}:r"),
                     1);
}

CHECK_TEST(the_doctor_says_whom_the_sentinels_name)
{
    const tool_how how = {.url = group->url};
    char expected[128];

    (void)snprintf(expected, sizeof(expected),
                   "ok      sentinel     all 3 sentinels name 127.0.0.1:%u as "
                   "the master",
                   server_port(group->servers[0]));
    assert_tool(&how, 0, expected, "", "doctor", "-w", "0", NULL);
}

CHECK_TEST(the_doctor_says_what_an_old_master_would_do)
{
    const tool_how how = {.url = group->url};

    assert_tool(&how, 0, "note    min-replicas after a failover the old master",
                "", "doctor", "-w", "0", NULL);
    freeReplyObject(server_command(group->servers[0],
                                   "CONFIG SET min-replicas-to-write 1"));
    assert_tool(&how, 0,
                "ok      min-replicas min-replicas-to-write 1: a "
                "master refuses writes",
                "", "doctor", "-w", "0", NULL);
    freeReplyObject(server_command(group->servers[0],
                                   "CONFIG SET min-replicas-to-write 0"));
}

CHECK_TEST(the_doctor_says_how_many_do_not)
{
    char url[256], expected[128];
    const tool_how how = {.url = url};

    (void)snprintf(url, sizeof(url),
                   "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u/m?failover=fast",
                   server_port(group->sentinels[0]), socket_free_port());
    (void)snprintf(expected, sizeof(expected),
                   "FAIL    sentinel     1 of 3 sentinels name 127.0.0.1:%u as "
                   "the master",
                   server_port(group->servers[0]));
    assert_tool(&how, 69, expected, "", "doctor", "-w", "0", NULL);
    (void)snprintf(expected, sizeof(expected),
                   "warn    sentinel     the sentinel 127.0.0.1:%u knows 2 "
                   "others, and the URL names 1 beside it",
                   server_port(group->sentinels[0]));
    assert_tool(&how, 69, expected, "", "doctor", "-w", "0", NULL);
    assert_tool(&how, 69, "note    failover     around a failover two may hold",
                "", "doctor", "-w", "0", NULL);
}

CHECK_TEST(the_url_is_shown_without_its_passwords)
{
    const tool_how how = {.url = "valkey+sentinel://u:p@h1,h2:2/m?"
                                 "sentinel_password=q"};

    assert_tool(&how, 0,
                "redis+sentinel://u:***@h1:26379,h2:2/m/0?"
                "sentinel_password=***\n",
                "", "config", "url", "--quiet", NULL);
}

/* ---- the sentinels' own user ------------------------------------------------------ */

/* What `doctor --acl` prints for a user of sentinels; "-@all ... &+switch-master". */
static const char *printed_rights(void)
{
    static char rules[512];
    const tool_how how = {.url = group->url};
    tool *t = tool_start(&how, "doctor", "--acl", NULL);
    const char *begin;

    assert_int_equal(tool_wait(t, LONG_MS), 0);
    assert_null(strstr(tool_out(t), "sentinel"));
    assert_non_null(strstr(tool_err(t), "of these +ping is not needed"));
    begin = strstr(tool_err(t), "user NAME on >PASSWORD`: ");
    assert_non_null(begin);
    begin = strstr(begin, "-@all");
    (void)snprintf(rules, sizeof(rules), "%.*s", (int)strcspn(begin, "\n"),
                   begin);
    tool_free(t);
    return rules;
}

/* One that names the same master "s", with a user "app" of these rights. */
static server *start_sentinel(const char *rules)
{
    char config[1024];
    server *sentinel;

    (void)snprintf(config, sizeof(config),
                   "sentinel monitor s 127.0.0.1 %u 1\n"
                   "user app on >s3cret %s\n",
                   server_port(group->servers[0]), rules);
    sentinel = server_start_sentinel(config);
    assert_non_null(sentinel);
    return sentinel;
}

/* Fast: it has named the master for less than three seconds. A sentinel answers nobody
   while it writes its configuration to a disk that is busy. */
static const char *url_as_app(char url[256], server *sentinel, const char *more)
{
    (void)snprintf(url, 256,
                   "redis+sentinel://127.0.0.1:%u/s?failover=fast&"
                   "connect_timeout_ms=20s&command_timeout_ms=20s&"
                   "offline_ms=1m&sentinel_user=app%s",
                   server_port(sentinel), more);
    return url;
}

static bool is_listened_to(void *sentinel)
{
    char *listeners = server_string(sentinel, "CLIENT LIST TYPE pubsub");
    bool is = strstr(listeners, " sub=1 ") != NULL;

    free(listeners);
    return is;
}

static size_t denied_count(server *sentinel)
{
    redisReply *log = server_command(sentinel, "ACL LOG");
    size_t count = log->elements;

    assert_int_equal(log->type, REDIS_REPLY_ARRAY);
    freeReplyObject(log);
    return count;
}

CHECK_TEST(the_printed_rights_are_enough)
{
    char url[256], json[512];
    const tool_how how = {.url = url};
    server *sentinel = start_sentinel(printed_rights());
    tool *holder;

    (void)url_as_app(url, sentinel, "&sentinel_password=s3cret");
    holder = hold_name(&how);
    assert_true(wait_until(is_listened_to, sentinel, LONG_MS));
    end_name(holder);
    assert_int_equal(denied_count(sentinel), 0);
    server_stop(sentinel);
    (void)snprintf(json, sizeof(json),
                   "\"sentinels\":{\"commands\":"
                   "[\"sentinel|get-master-addr-by-name\",");
    assert_tool(&how, 0, json, "", "doctor", "--acl", "--json", NULL);
    assert_tool(NULL, 0, "\"sentinels\":null}", "", "doctor", "--acl", "--json",
                NULL);
}

CHECK_TEST(the_page_prints_the_same)
{
    char *page = calloc(1, 65536), line[600];
    FILE *file = fopen(LK_SOURCE_DIR "/docs/sentinel.md", "r");

    assert_non_null(page);
    assert_non_null(file);
    assert_in_range(fread(page, 1, 65535, file), 1, 65534);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(line, sizeof(line), "\nuser app on >secret %s\n",
                   printed_rights());
    assert_non_null(strstr(page, line));
    free(page);
}

/* Whether a client at such a sentinel gets what it wants. Else it is refused, with
   words that name the right. */
static bool goes_on_without(const char *word)
{
    char *less = rights_without(printed_rights(), word);
    server *sentinel = start_sentinel(less);
    char url[256];
    const tool_how how = {.url = url};
    tool *t;
    bool is_first = strcmp(word, "+sentinel|get-master-addr-by-name") == 0;

    free(less);
    (void)url_as_app(url, sentinel, "&sentinel_password=s3cret");
    t = tool_start(&how, "lock", "n", "--", "sh", "-c",
                   "echo held; exec sleep 1000", NULL);
    /* A connection that is idle for long sends a PING: not waited for here. */
    if (strcmp(word, "+ping") != 0)
        assert_soon(denied_count(sentinel) > 0, LONG_MS);
    if (is_first) {
        assert_int_equal(tool_wait(t, LONG_MS), 77);
        if (strstr(tool_err(t), word + 1) == NULL)
            fail_msg("%s", tool_err(t));
        tool_free(t);
    } else {
        tool_wait_out(t, "held", LONG_MS);
        end_name(t);
    }
    server_stop(sentinel);
    return !is_first;
}

/* As the page says: the first one is needed, without the others it is slower. */
CHECK_TEST(each_right_that_is_taken_away_is_named_or_not_needed)
{
    char *rules = strdup(printed_rights()), *rest;
    unsigned refused = 0, slower = 0;

    assert_non_null(rules);
    for (const char *word = strtok_r(rules, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (word[0] != '+' && word[0] != '&')
            continue;
        if (goes_on_without(word))
            slower++;
        else
            refused++;
    }
    free(rules);
    assert_int_equal(refused, 1);
    assert_int_equal(slower, 4);
    assert_int_equal(server_integer(group->servers[0], "EXISTS n"), 0);
}

/* ---- their password --------------------------------------------------------------- */

/* A file of mode 600, and a variable that names it. */
static void
write_password(char variable[256], const scratch *folder, const char *text)
{
    const char *path;
    FILE *to;

    (void)snprintf(variable, 256, "LATCHKEY_SENTINEL_PASSWORD_FILE=%s/password",
                   scratch_path(folder));
    path = strchr(variable, '=') + 1;
    to = fopen(path, "we");
    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static void
assert_code(const char *url, const char *const *env, int code, const char *err)
{
    const tool_how how = {.url = url, .env = env};

    assert_tool(&how, code, NULL, err, "ls", NULL);
}

/* The URL, then the variable, then the file; those of the servers are not tried. */
CHECK_TEST(their_password_has_sources_of_its_own)
{
    char plain[256], told[256], file[256];
    const char *variable[] = {"LATCHKEY_SENTINEL_PASSWORD=s3cret", file, NULL};
    const char *only_file[] = {file, NULL};
    const char *wrong[] = {"LATCHKEY_SENTINEL_PASSWORD=wrong", NULL};
    const char *servers[] = {"REDISCLI_AUTH=s3cret", NULL};
    server *sentinel = start_sentinel(printed_rights());
    scratch *folder = scratch_new();

    assert_non_null(folder);
    (void)url_as_app(plain, sentinel, "");
    (void)url_as_app(told, sentinel, "&sentinel_password=s3cret");
    write_password(file, folder, "wrong\n");
    assert_code(plain, variable, 0, NULL);
    assert_code(told, wrong, 0, NULL);
    assert_code(plain, only_file, 77,
                "the password from LATCHKEY_SENTINEL_PASSWORD_FILE");
    write_password(file, folder, "s3cret\n");
    assert_code(plain, only_file, 0, NULL);
    assert_code(plain, wrong, 77,
                "the password from LATCHKEY_SENTINEL_PASSWORD");
    assert_code(plain, servers, 77, "set LATCHKEY_SENTINEL_PASSWORD_FILE or");
    scratch_free(folder);
    server_stop(sentinel);
}

/* Neither in a command's environment nor in what is shown. */
CHECK_TEST(nobody_is_shown_it)
{
    static const char script[] = "env; tr '\\0' '\\n' </proc/$PPID/environ";
    static const char *const commands[] = {"config", "url", "ls", "doctor"};
    char url[256];
    const char *env[] = {"LATCHKEY_SENTINEL_PASSWORD=s3cret", NULL};
    const tool_how how = {.url = url, .env = env};
    server *sentinel = start_sentinel(printed_rights());
    tool *t;

    (void)url_as_app(url, sentinel, "");
    t = tool_start(&how, "lock", "n", "--", "sh", "-c", script, NULL);
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    assert_non_null(strstr(tool_out(t), "LATCHKEY_URL="));
    assert_null(strstr(tool_out(t), "s3cret"));
    tool_free(t);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        t = tool_start(&how, commands[i], "--verbose", NULL);
        (void)tool_wait(t, LONG_MS);
        assert_null(strstr(tool_out(t), "s3cret"));
        assert_null(strstr(tool_err(t), "s3cret"));
        tool_free(t);
    }
    assert_tool(&how, 0,
                "sentinel-password = ***\n    from LATCHKEY_SENTINEL_PASSWORD",
                "", "config", "--explain", NULL);
    server_stop(sentinel);
}

/* What is said of TLS beside the URL is for sentinels as well. */
CHECK_TEST(the_settings_of_tls_are_for_them_too)
{
    const char *env[] = {"LATCHKEY_TLS_CA_FILE=/nowhere/ca.crt", NULL};
    const tool_how how = {.url = "rediss+sentinel://127.0.0.1:1/m", .env = env};

    assert_tool(&how, 78, "", "/nowhere/ca.crt", "ls", NULL);
}

/* ---- the commands that look ------------------------------------------------------- */

/* The line, or the JSON, that names this server as the master. How many do is told
   as far as it is known by then: most of them. */
static const char *place_words(char words[128], const server *master)
{
    (void)snprintf(words, 128, "master m at 127.0.0.1:%u, named by ",
                   server_port(master));
    return words;
}

static const char *place_json(char words[192], const server *master)
{
    (void)snprintf(words, 192,
                   "\"master\":{\"name\":\"m\",\"address\":\"127.0.0.1:%u\","
                   "\"sentinels\":3,\"answering\":",
                   server_port(master));
    return words;
}

CHECK_TEST(each_look_says_where_the_master_is)
{
    const tool_how how = {.url = group->url};
    char words[128], json[192], foot[160];
    tool *holder = hold_name(&how);

    (void)place_words(words, group->servers[0]);
    (void)place_json(json, group->servers[0]);
    (void)snprintf(foot, sizeof(foot), "program latchkey\n  %s", words);
    assert_tool(&how, 0, words, "", "ls", NULL);
    assert_tool(&how, 0, words, "", "top", NULL);
    assert_tool(&how, 0, foot, "", "who", "n", NULL);
    assert_tool(&how, 0, json, "", "ls", "--json", NULL);
    assert_tool(&how, 0, json, "", "top", "--json", NULL);
    assert_tool(&how, 0, json, "", "who", "n", "--json", NULL);
    end_name(holder);
}

CHECK_TEST(a_list_without_a_headline_has_names_alone)
{
    const tool_how how = {.url = group->url};
    tool *t = tool_start(&how, "ls", "--idle", "--no-header", NULL);

    assert_int_equal(tool_wait(t, LONG_MS), 0);
    assert_non_null(strstr(tool_out(t), "n "));
    assert_null(strstr(tool_out(t), "master"));
    tool_free(t);
}

/* Where one sentinel is enough, how many of them say so is told as well. */
CHECK_TEST(it_says_how_few_name_it)
{
    char url[256], expected[128];
    const tool_how how = {.url = url};

    (void)snprintf(url, sizeof(url),
                   "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u/m?failover=fast",
                   server_port(group->sentinels[0]), socket_free_port());
    (void)snprintf(expected, sizeof(expected),
                   "master m at 127.0.0.1:%u, named by 1 of ",
                   server_port(group->servers[0]));
    assert_tool(&how, 0, expected, "", "ls", NULL);
}

CHECK_TEST(after_a_failover_it_is_the_next_one)
{
    const tool_how how = {.url = group->url};
    const tool_how live = {.url = group->url, .has_terminal = true};
    tool *top = tool_start(&live, "top", "--every", "200ms", NULL);
    char words[128], all[192];
    server *next;

    tool_wait_out(top, place_words(words, group->servers[0]), LONG_MS);
    next = sentinels_failover(group);
    sentinels_wait_other(group, group->servers[0]);
    (void)snprintf(all, sizeof(all), "%s3 of 3 sentinels",
                   place_words(words, next));
    tool_wait_out(top, all, LONG_MS);
    tool_type(top, "q");
    assert_int_equal(tool_wait(top, LONG_MS), 0);
    tool_free(top);

    assert_tool(&how, 0, place_words(words, next), "", "ls", "--idle", NULL);
    assert_tool(&how, 0, place_words(words, next), "", "who", "n", NULL);
}

int test_sentinel(void)
{
    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    return check_all(start, stop);
}
