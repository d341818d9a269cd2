/* SPDX-License-Identifier: MIT */

/* The map of slots, out of answers as servers give them and as they must not. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/resp.h"
#include "server/slots.h"
#include "support/check.h"

/* ---- answers, written as lists [..] of numbers, "texts" and nil ------------ */

/* Where the list that begins here ends. */
static const char *end_of(const char *text)
{
    int depth = 0;

    do {
        depth += (*text == '[') - (*text == ']');
        text++;
    } while (depth > 0);
    return text;
}

static size_t count_of(const char *list)
{
    size_t count = 0;

    for (const char *at = list + 1; *at != ']';) {
        at += strspn(at, " ");
        if (*at == ']')
            break;
        count++;
        at = *at == '[' ? end_of(at) : at + strcspn(at, " ]");
    }
    return count;
}

/* As a server would write it. */
static void spell(const char *text, FILE *out)
{
    size_t size;

    for (; *text != '\0'; text += size) {
        size = strcspn(text, " []");
        if (size == 0) {
            if (*text == '[')
                (void)fprintf(out, "*%zu\r\n", count_of(text));
            size = 1;
        } else if (*text == '"') {
            (void)fprintf(out, "$%zu\r\n%.*s\r\n", size - 2, (int)size - 2,
                          text + 1);
        } else if (strncmp(text, "nil", size) == 0) {
            (void)fputs("$-1\r\n", out);
        } else {
            (void)fprintf(out, "%s%.*s\r\n",
                          strchr("+:", *text) != NULL ? "" : ":", (int)size,
                          text);
        }
    }
}

static redisReply *reply_of(const char *bytes, size_t size)
{
    redisReader *reader = lk__resp_reader_new();
    redisReply *reply = NULL;

    assert_non_null(reader);
    assert_status(lk__resp_reader_feed(reader, bytes, size), LK_OK);
    assert_status(lk__resp_reader_next(reader, &reply), LK_OK);
    assert_non_null(reply);
    lk__resp_reader_free(reader);
    return reply;
}

static redisReply *answer(const char *text)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    redisReply *reply;

    assert_non_null(out);
    spell(text, out);
    assert_int_equal(fclose(out), 0);
    reply = reply_of(bytes, size);
    free(bytes);
    return reply;
}

static redisReply *error(const char *words)
{
    char line[200];
    int size = snprintf(line, sizeof(line), "-%s\r\n", words);

    return reply_of(line, (size_t)size);
}

/* ---- what is made of them ---------------------------------------------------- */

/* Frees the answer. */
static lk_status read_reply(lk__slots **ret_slots, redisReply *reply)
{
    const char *words = NULL;
    lk_status status = lk__slots_new(ret_slots, reply, "asked", &words);

    assert_int_equal(status != LK_OK, words != NULL);
    freeReplyObject(reply);
    return status;
}

static lk__slots *map(const char *text)
{
    lk__slots *slots = NULL;

    assert_status(read_reply(&slots, answer(text)), LK_OK);
    return slots;
}

static void assert_refused(const char *text)
{
    lk__slots *slots = NULL;

    if (read_reply(&slots, answer(text)) != LK_EPROTO || slots != NULL)
        fail_msg("it was taken: %.80s", text);
}

/* "host port", or "" if nobody serves it. */
static const char *owner(const lk__slots *slots, unsigned slot)
{
    static char text[300];
    const lk__endpoint *master = lk__slots_owner(slots, slot);

    text[0] = '\0';
    if (master != NULL)
        (void)snprintf(text, sizeof(text), "%s %u", master->host, master->port);
    return text;
}

static void assert_host(const char *host, const char *read)
{
    char text[400], expected[300];
    lk__slots *slots;

    (void)snprintf(text, sizeof(text), "[[5 5 [%s 7000]]]", host);
    (void)snprintf(expected, sizeof(expected), "%s 7000", read);
    slots = map(text);
    assert_string_equal(owner(slots, 5), expected);
    lk__slots_free(slots);
}

/* ---- what servers say ------------------------------------------------------- */

CHECK_TEST(each_range_has_its_master)
{
    lk__slots *slots =
        map("[[0 8191 [\"10.0.0.1\" 7000 \"id1\" []] [\"10.0.0.3\" 7002 "
            "\"id3\" []]] [8192 16383 [\"10.0.0.2\" 7001 \"id2\" []]]]");

    assert_string_equal(owner(slots, 0), "10.0.0.1 7000");
    assert_string_equal(owner(slots, 8191), "10.0.0.1 7000");
    assert_string_equal(owner(slots, 8192), "10.0.0.2 7001");
    assert_string_equal(owner(slots, 16383), "10.0.0.2 7001");
    assert_int_equal(slots->master_count, 2);
    lk__slots_free(slots);
}

CHECK_TEST(ranges_come_in_any_order_and_with_gaps)
{
    lk__slots *slots = map("[[9 9 [\"b\" 1]] [0 4 [\"a\" 1]] [6 7 [\"b\" 1]]]");

    assert_string_equal(owner(slots, 4), "a 1");
    assert_string_equal(owner(slots, 5), "");
    assert_string_equal(owner(slots, 6), "b 1");
    assert_string_equal(owner(slots, 8), "");
    assert_string_equal(owner(slots, 9), "b 1");
    assert_string_equal(owner(slots, 16383), "");
    assert_int_equal(slots->master_count, 2);
    lk__slots_free(slots);
}

CHECK_TEST(a_node_may_know_no_slots)
{
    lk__slots *slots = map("[]");

    assert_int_equal(slots->master_count, 0);
    assert_string_equal(owner(slots, 0), "");
    lk__slots_free(slots);
}

CHECK_TEST(who_names_no_host_means_the_one_that_was_asked)
{
    assert_host("nil", "asked");
    assert_host("\"\"", "asked");
    assert_host("\"?\"", "asked");
    assert_host("\"??\"", "??");
}

CHECK_TEST(a_host_is_a_name_or_a_number)
{
    assert_host("\"2001:db8::7\"", "2001:db8::7");
    assert_host("\"fe80::1%eth0\"", "fe80::1%eth0");
    assert_host("\"r-1.cache.example\"", "r-1.cache.example");
}

CHECK_TEST(what_else_is_said_of_a_node_is_passed_over)
{
    lk__slots *slots =
        map("[[0 0 [\"h.example\" 7000 \"id\" [\"ip\" \"10.0.0.1\"] 8 nil] "
            "[7 nil] nil []]]");

    assert_string_equal(owner(slots, 0), "h.example 7000");
    lk__slots_free(slots);
}

CHECK_TEST(a_host_is_the_same_in_any_case)
{
    lk__slots *slots = map("[[0 0 [\"Host\" 1]] [1 1 [\"hosT\" 1]]"
                           " [2 2 [\"host\" 2]]]");

    assert_int_equal(slots->master_count, 2);
    lk__slots_free(slots);
}

/* ---- what is refused ---------------------------------------------------------- */

CHECK_TEST(what_is_no_map_is_refused)
{
    static const char *const answers[] = {
        "7",
        "nil",
        "\"slots\"",
        "+OK",
        "[7]",
        "[nil]",
        "[[]]",
        "[[0 5]]",
        "[[0 5 nil]]",
        "[[0 5 \"a\"]]",
        "[[0 5 []]]",
        "[[0 5 [\"a\"]]]",
        "[[0 5 [7000 \"a\"]]]",
        "[[0 5 [[] 7000]]]",
        "[[0 5 [+OK 7000]]]",
        "[[0 5 [\"a\" \"7000\"]]]",
        "[[0 5 [\"a\" nil]]]",
        "[[\"0\" 5 [\"a\" 7000]]]",
        "[[0 nil [\"a\" 7000]]]",
        "[[0 5 [\"a\" 7000]] 7]",
    };

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        assert_refused(answers[i]);
}

CHECK_TEST(ranges_are_of_slots_and_each_has_one_master)
{
    assert_refused("[[:-1 5 [\"a\" 7000]]]");
    assert_refused("[[5 4 [\"a\" 7000]]]");
    assert_refused("[[0 16384 [\"a\" 7000]]]");
    assert_refused("[[16384 16384 [\"a\" 7000]]]");
    assert_refused("[[0 :9223372036854775807 [\"a\" 7000]]]");
    assert_refused("[[0 5 [\"a\" 7000]] [5 6 [\"a\" 7000]]]");
    assert_refused("[[0 5 [\"a\" 7000]] [3 3 [\"b\" 7000]]]");
}

/* Each master without a name is said to be at the host that was asked. */
CHECK_TEST(two_masters_at_one_address_are_refused)
{
    lk__slots *slots = NULL;
    const char *words = NULL;
    redisReply *reply = answer("[[0 5 [\"a\" 7000 \"id1\"]]"
                               " [6 9 [\"?\" 7000 \"id2\"]]"
                               " [10 11 [nil 7000 \"id3\"]]]");

    assert_status(lk__slots_new(&slots, reply, "asked", &words), LK_EPROTO);
    assert_non_null(strstr(words, "two masters at one address"));
    freeReplyObject(reply);
    assert_refused("[[0 5 [\"?\" 7000 \"id2\"]] [6 9 [\"asked\" 7000]]]");
    lk__slots_free(map("[[0 5 [\"?\" 7000 \"i\"]] [6 9 [nil 7000 \"i\"]]]"));
}

CHECK_TEST(an_id_is_a_short_text)
{
    assert_refused("[[0 5 [\"a\" 7000 7]]]");
    assert_refused("[[0 5 [\"a\" 7000 nil]]]");
    assert_refused("[[0 5 [\"a\" 7000 "
                   "\"01234567890123456789012345678901234567890\"]]]");
    lk__slots_free(map("[[0 5 [\"a\" 7000 "
                       "\"0123456789012345678901234567890123456789\"]]]"));
}

CHECK_TEST(ports_are_1_to_65535)
{
    lk__slots_free(map("[[0 5 [\"a\" 1]] [6 6 [\"a\" 65535]]]"));
    assert_refused("[[0 5 [\"a\" 0]]]");
    assert_refused("[[0 5 [\"a\" 65536]]]");
    assert_refused("[[0 5 [\"a\" :-1]]]");
    assert_refused("[[0 5 [\"a\" :4294967297]]]");
}

CHECK_TEST(hosts_are_visible_and_not_too_long)
{
    char longest[256], text[400];

    memset(longest, 'h', 255);
    longest[255] = '\0';
    (void)snprintf(text, sizeof(text), "\"%s\"", longest);
    assert_host(text, longest);
    (void)snprintf(text, sizeof(text), "[[0 5 [\"%sh\" 7000]]]", longest);
    assert_refused(text);
    assert_refused("[[0 5 [\".example\" 7000]]]");
    assert_refused("[[0 5 [\"%eth0\" 7000]]]");
    assert_refused("[[0 5 [\"a\x7f\" 7000]]]");
    assert_refused("[[0 5 [\"a\n\" 7000]]]");
    assert_refused("[[0 5 [\"\xc3\xa4\" 7000]]]");
}

CHECK_TEST(a_host_has_no_end_in_it)
{
    static const char bytes[] =
        "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$3\r\na\0b\r\n:7000"
        "\r\n";
    lk__slots *slots = NULL;

    assert_status(read_reply(&slots, reply_of(bytes, sizeof(bytes) - 1)),
                  LK_EPROTO);
}

/* Of count masters, one slot each. */
static lk_status read_many(lk__slots **ret_slots, unsigned count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    lk_status status;

    assert_non_null(out);
    for (unsigned i = 0; i < count; i++)
        (void)fprintf(out, "%s[%u %u [\"a\" %u]]", i == 0 ? "[" : " ", i, i,
                      i + 1);
    (void)fputs("]", out);
    assert_int_equal(fclose(out), 0);
    status = read_reply(ret_slots, answer(text));
    free(text);
    return status;
}

CHECK_TEST(there_are_at_most_1000_masters)
{
    lk__slots *slots = NULL;

    assert_status(read_many(&slots, 1001), LK_EPROTO);
    assert_status(read_many(&slots, 1000), LK_OK);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(lk__slots_owner(slots, i)->port, i + 1);
    lk__slots_free(slots);
}

/* ---- errors of the server's ------------------------------------------------- */

CHECK_TEST(a_server_without_a_cluster_is_told_by_name)
{
    redisReply *reply = error("ERR This instance has cluster support disabled");
    lk__slots *slots = NULL;
    const char *words = NULL;

    assert_status(lk__slots_new(&slots, reply, "asked", &words), LK_ENOTSUP);
    assert_string_equal(words, "the server is no node of a cluster; write "
                               "redis://host:port");
    freeReplyObject(reply);
}

CHECK_TEST(another_error_means_what_it_means_anywhere)
{
    lk__slots *slots = NULL;

    assert_status(read_reply(&slots, error("NOPERM this user has no permissions"
                                           " to run the 'cluster' command")),
                  LK_EDENIED);
    assert_status(read_reply(&slots, error("LOADING Redis is loading")),
                  LK_ELOADING);
    assert_status(read_reply(&slots, error("ERR unknown command 'CLUSTER'")),
                  LK_ESERVER);
    assert_null(slots);
}

/* ---- memory -------------------------------------------------------------------- */

static int left;

static bool fails(void)
{
    return left-- == 0;
}

CHECK_TEST(without_memory_there_is_no_map)
{
    lk_status status = LK_ENOMEM;
    lk__slots *slots = NULL;
    int tries = 0;

    while (status == LK_ENOMEM) {
        redisReply *reply =
            answer("[[0 0 [\"a\" 1]] [1 1 [\"a\" 2]] [2 2 [\"a\""
                   " 3]] [3 3 [\"a\" 4]] [4 4 [\"a\" 5]]]");
        const char *words = NULL;

        left = tries++;
        lk__mem_fail(fails);
        status = lk__slots_new(&slots, reply, "asked", &words);
        lk__mem_fail(NULL);
        assert_int_equal(slots != NULL, status == LK_OK);
        freeReplyObject(reply);
    }
    assert_int_equal(tries, 4);
    lk__slots_free(slots);
}

/* ---- the same again ------------------------------------------------------------- */

static bool says(const lk__slots *slots, const char *text)
{
    redisReply *reply = answer(text);
    bool does = lk__slots_says(slots, reply, "asked");

    freeReplyObject(reply);
    return does;
}

static void assert_same(const char *a, const char *b, bool same)
{
    lk__slots *map_a = map(a), *map_b = map(b);

    if (says(map_a, b) != same || says(map_b, a) != same)
        fail_msg("%s are the same, or not: %s", a, b);
    lk__slots_free(map_a);
    lk__slots_free(map_b);
}

CHECK_TEST(maps_are_compared_by_masters)
{
    static const char map_1[] = "[[0 9 [\"a\" 1]] [11 19 [\"b\" 1]]]";

    assert_same("[]", "[]", true);
    assert_same(map_1, map_1, true);
    assert_same(map_1, "[[11 15 [\"B\" 1]] [16 19 [\"b\" 1]] [0 9 [\"A\" 1]]]",
                true);
    assert_same(map_1, "[]", false);
    assert_same("[[0 9 [\"a\" 1]] [10 19 [\"b\" 1]]]", "[[0 19 [\"a\" 1]]]",
                false);
    assert_same(map_1, "[[0 9 [\"a\" 1]] [11 19 [\"b\" 2]]]", false);
    assert_same(map_1, "[[0 9 [\"a\" 1]] [11 19 [\"c\" 1]]]", false);
    assert_same(map_1, "[[0 9 [\"a\" 1]] [11 18 [\"b\" 1]]]", false);
    assert_same(map_1, "[[0 9 [\"a\" 1]] [10 19 [\"b\" 1]]]", false);
    assert_same(map_1, "[[0 9 [\"a\" 1]] [12 19 [\"b\" 1]] [11 11 [\"a\" 1]]]",
                false);
}

CHECK_TEST(what_is_no_map_says_nothing)
{
    lk__slots *slots = map("[[0 9 [\"a\" 1]] [11 19 [\"b\" 1]]]");
    redisReply *refusal = error("LOADING");

    assert_false(lk__slots_says(slots, refusal, "asked"));
    assert_false(says(slots, "[[0 9 [\"a\" 1]] [11 19]]"));
    assert_false(says(slots, "[[0 9 [\"a\" 1]] [11 19 [\"b\" 1 \"id\"]]]"));
    assert_false(says(slots, "[[0 9 [\"a\" 1]] [11 19 [\"b\" 0]]]"));
    assert_false(says(slots, "[[0 9 [\"a\" 1]] [19 11 [\"b\" 1]]]"));
    assert_false(says(slots, "[[0 9 [\"a\" 1]] [11 16384 [\"b\" 1]]]"));
    freeReplyObject(refusal);
    lk__slots_free(slots);
}
