/* SPDX-License-Identifier: MIT */

/* What the commands that look write as JSON, and that docs/cli-json.md has it:
   a change of these texts is a change of what programs rely on. */

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/seeing.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

static char page[65536]; /* docs/cli-json.md */

static int read_page(NO_STATE)
{
    FILE *file = fopen(LK_SOURCE_DIR "/docs/cli-json.md", "r");

    assert_non_null(file);
    assert_in_range(fread(page, 1, sizeof(page) - 1, file), 1,
                    sizeof(page) - 2);
    return fclose(file);
}

/* Every key of the document stands in the page, as `key` or `...].key`. */
static void assert_in_page(const char *json)
{
    for (const char *at = strstr(json, "\":"); at != NULL;
         at = strstr(at + 1, "\":")) {
        const char *begin = at;
        char word[64];

        while (begin > json && begin[-1] != '"')
            begin--;
        (void)snprintf(word, sizeof(word), "%.*s`", (int)(at - begin), begin);
        if (strstr(page, word) == NULL)
            fail_msg("docs/cli-json.md does not have %s", word);
    }
}

/* What the command writes is like the pattern, * and ? as in fnmatch(3), but
   that brackets and braces are themselves. */
static void
assert_json(seeing *f, const char *const *arguments, const char *pattern)
{
    tool *t = tool_start_list(&f->how, arguments);
    char escaped[4096];
    size_t used = 0;

    assert_int_equal(tool_wait(t, 10000), 0);
    for (; *pattern != '\0' && used < sizeof(escaped) - 3; pattern++) {
        if (*pattern == '[' || *pattern == '\\')
            escaped[used++] = '\\';
        escaped[used++] = *pattern;
    }
    escaped[used] = '\0';
    if (fnmatch(escaped, tool_out(t), 0) != 0)
        fail_msg("%s\nis not like\n%s", tool_out(t), escaped);
    assert_in_page(tool_out(t));
    tool_free(t);
}

#define JSON(f, pattern, ...)                                                  \
    assert_json((f), (const char *const[]){__VA_ARGS__, "--json", NULL},       \
                (pattern))

/* A holder of ours and one of Redisson's, as they are written. */
#define OURS                                                                   \
    "{\"owner\":\"*:0000000000000001\",\"host\":\"?*\",\"pid\":*,"             \
    "\"command\":\"test_cli_see\",\"user\":\"?*\",\"client\":\"?*\","          \
    "\"reason\":\"r\",\"mode\":null,\"count\":1,\"process\":null,\"library\":" \
    "\"latchkey\","                                                            \
    "\"fence\":?*,\"held_ms\":?*,\"lease_ms\":?*,\"waits_for\":null,"          \
    "\"revoked\":false}"
#define JAVAS                                                                  \
    "{\"owner\":\"" JAVA "\",\"host\":null,\"pid\":null,\"command\":null,"     \
    "\"user\":null,\"client\":null,\"reason\":null,\"mode\":null,"             \
    "\"count\":2,\"process\":null,\"library\":\"redisson\",\"fence\":null,"    \
    "\"held_ms\":null,"                                                        \
    "\"lease_ms\":null,\"waits_for\":null,\"revoked\":false}"

SEEING_TEST(a_list_of_names)
{
    JSON(
        f,
        "{\"names\":[],\"truncated\":false,\"missing\":null,\"master\":null}\n",
        "ls");
    seeing_start(f, (keeper_how){.holds = "n", .reason = "r"});
    server_integer(f->server, "HSET o " JAVA " 2");
    JSON(f,
         "{\"names\":[{\"name\":\"n\",\"kind\":\"lock\",\"ours\":true,"
         "\"holder_count\":1,\"waiter_count\":0,\"value\":null,"
         "\"holder\":" OURS
         ",\"unread\":null},{\"name\":\"o\",\"kind\":\"lock\","
         "\"ours\":false,\"holder_count\":1,\"waiter_count\":0,"
         "\"value\":null,\"holder\":" JAVAS
         ",\"unread\":null}],\"truncated\":false,\"missing\":null,\"master\":"
         "null}\n",
         "ls");
}

SEEING_TEST(a_name)
{
    server_integer(f->server, "HSET o " JAVA " 2");
    seeing_start(f, (keeper_how){.waits = "o", .reason = "r"});
    JSON(f,
         "{\"name\":\"o\",\"kind\":\"lock\",\"holders\":[" JAVAS "],"
         "\"waiter_count\":*,\"waiters\":[*],\"permits\":null,"
         "\"value\":null,\"master\":null}\n",
         "who", "o");
    while (server_integer(f->server, SERVER_WAITERS("o")) == 0)
        continue; /* the test's time limit ends it */
    JSON(f,
         "{\"name\":\"o\",\"kind\":\"lock\",\"holders\":[" JAVAS "],"
         "\"waiter_count\":1,\"waiters\":[{\"position\":1,\"owner\":\"*:"
         "0000000000000001\","
         "\"host\":\"?*\",\"pid\":*,\"command\":\"test_cli_see\","
         "\"user\":\"?*\",\"client\":\"?*\",\"reason\":\"r\",\"mode\":null,"
         "\"count\":1,\"process\":null,\"library\":\"latchkey\",\"waited_ms\":*"
         "}],"
         "\"permits\":null,\"value\":null,\"master\":null}\n",
         "who", "o");
}

SEEING_TEST(a_semaphore_and_a_latch)
{
    seeing_start(f, (keeper_how){.takes = "s"});
    JSON(f,
         "{\"name\":\"s\",\"kind\":\"semaphore\",\"holders\":[*],"
         "\"waiter_count\":0,\"waiters\":[],\"permits\":3,\"value\":1,"
         "\"master\":null}\n",
         "who", "s");
    JSON(f,
         "{\"names\":[{\"name\":\"s\",\"kind\":\"semaphore\",\"ours\":true,"
         "\"holder_count\":2,\"waiter_count\":0,\"value\":1,\"holder\":{"
         "\"owner\":\"*:0000000000000001\",\"host\":\"?*\",\"pid\":*,"
         "\"command\":"
         "\"test_cli_see\",*},\"unread\":null}],\"truncated\":false,"
         "\"missing\":null,"
         "\"master\":null}\n",
         "ls");
    assert_tool(&f->how, 0, ", 0 waiting, 1 of 3 permits free", "", "who", "s",
                NULL);
    JSON(f, "{\"name\":\"l\",\"count\":2}\n", "latch", "set", "l", "2");
    JSON(f,
         "{\"name\":\"l\",\"kind\":\"latch\",\"holders\":[],"
         "\"waiter_count\":0,\"waiters\":[],\"permits\":null,\"value\":2,"
         "\"master\":null}\n",
         "who", "l");
    assert_tool(&f->how, 0, ", 0 waiting, 2 left", "", "who", "l", NULL);
    JSON(f, "{\"name\":\"l\",\"count\":1}\n", "latch", "down", "l");
    JSON(f, "{\"name\":\"l\",\"count\":1}\n", "latch", "count", "l");
    JSON(f, "{\"name\":\"l\",\"count\":null}\n", "latch", "delete", "l");
}

/* What others than those who look write. */
SEEING_TEST(other_documents)
{
    JSON(f, "{\"name\":\"a\",\"fence\":?*,\"hold\":\"?*\"}\n", "acquire", "-l",
         "60", "a");
    JSON(f, "{\"name\":\"b\",\"count\":0}\n", "barrier", "-n", "1", "b");
    JSON(f, "{\"url\":\"?*\",\"from\":\"LATCHKEY_URL\"}\n", "config", "url");
}

SEEING_TEST(an_end_by_force)
{
    server_integer(f->server, "HSET o " JAVA " 2");
    JSON(f,
         "{\"name\":\"o\",\"kind\":\"lock\",\"dry_run\":true,"
         "\"now\":false,\"ended\":[\"" JAVA "\"]}\n",
         "break", "--dry-run", "o");
    JSON(f,
         "{\"name\":\"o\",\"kind\":\"lock\",\"dry_run\":false,"
         "\"now\":true,\"ended\":[\"" JAVA "\"]}\n",
         "break", "-y", "--now", "o");
}

SEEING_TEST(a_name_that_is_forgotten)
{
    assert_tool(&f->how, 0, NULL, NULL, "lock", "n", "--", "true", NULL);
    JSON(f, "{\"name\":\"n\",\"kind\":\"lock\"}\n", "forget", "n");
}

SEEING_TEST(events)
{
    server_integer(f->server, "HSET o " JAVA " 2");
    JSON(f,
         "{\"event\":\"holds\",\"unix_ms\":?*,\"name\":\"o\","
         "\"kind\":\"lock\",\"holder\":" JAVAS ",\"waiter\":null}\n",
         "watch", "-n", "1", "o");
}

#define SUMS                                                                   \
    "{\"names\":?*,\"held\":?*,\"holders\":?*,\"waiters\":?*,"                 \
    "\"foreign\":?*,\"longest_held_ms\":?*}"

SEEING_TEST(a_chain)
{
    server_integer(f->server, "HSET o " JAVA " 2");
    JSON(f,
         "{\"name\":\"o\",\"deadlock\":false,\"names\":[{\"name\":\"o\","
         "\"kind\":\"lock\",\"holders\":[" JAVAS "],\"waiter_count\":0,"
         "\"waiters\":[],\"stuck\":false}],\"unread\":[],\"truncated\":false,"
         "\"missing\":"
         "null}\n",
         "why", "o");
}

SEEING_TEST(sums)
{
    JSON(f,
         "{\"kinds\":{\"lock\":" SUMS ",\"rwlock\":" SUMS ",\"semaphore\":" SUMS
         ",\"plain-semaphore\":" SUMS ",\"latch\":" SUMS "},\"all\":" SUMS
         ",\"server_version\":\"?*\","
         "\"rtt_min_us\":?*,\"rtt_median_us\":?*,\"rtt_max_us\":?*,"
         "\"truncated\":false,\"missing\":null}\n",
         "metrics");
}

SEEING_TEST(checks)
{
    JSON(f,
         "{\"checks\":[{\"id\":\"version\",\"level\":\"ok\","
         "\"text\":\"?*\",\"advice\":null},*],\"failed\":false}\n",
         "doctor", "-w", "0");
}

CHECK_GROUP(read_page, NULL)
