/* SPDX-License-Identifier: MIT */

/* Replies that cost whoever reads them more than they are worth: arrays within
   arrays, and lines that do not end. */

#include <string.h>

#include "base/resp.h"
#include "support/check.h"

enum { MILLION = 1000000 };

static redisReader *reader;

static int begin(NO_STATE)
{
    reader = lk__resp_reader_new();
    return reader == NULL;
}

static int end(NO_STATE)
{
    lk__resp_reader_free(reader);
    return 0;
}

/* Feeds it and takes the next reply; *ret_reply NULL: it is not complete. */
static lk_status feed(const char *bytes, size_t size, redisReply **ret_reply)
{
    lk_status status = lk__resp_reader_feed(reader, bytes, size);

    *ret_reply = NULL;
    return status == LK_OK ? lk__resp_reader_next(reader, ret_reply) : status;
}

static void assert_fed(const char *text)
{
    redisReply *reply;

    assert_status(feed(text, strlen(text), &reply), LK_OK);
    assert_null(reply);
}

/* ---- arrays within arrays --------------------------------------------------- */

static void assert_nested(int depth, lk_status expected)
{
    lk_status status = LK_OK;
    redisReply *reply = NULL;

    for (int i = 0; i < depth && status == LK_OK; i++)
        status = feed("*1\r\n", 4, &reply);
    if (status == LK_OK)
        status = feed(":1\r\n", 4, &reply);
    assert_status(status, expected);
    if (reply != NULL)
        freeReplyObject(reply);
}

/* hiredis before 1 takes seven, which is more than a client ever asks for. */
static void arrays_within_arrays_are_read(NO_STATE)
{
    assert_nested(HIREDIS_MAJOR >= 1 ? LK__RESP_DEPTH_MAX : 7, LK_OK);
}

/* hiredis before 1 refuses it by itself, in other words. */
static void one_array_deeper_is_refused(NO_STATE)
{
    assert_nested(LK__RESP_DEPTH_MAX + 1, LK_EPROTO);
#if HIREDIS_MAJOR >= 1
    assert_string_equal(lk_last_error(),
                        "the server's reply has lists within too many");
#endif
}

/* To free them all would overflow the stack. */
static void a_million_arrays_within_each_other_are_refused(NO_STATE)
{
    assert_nested(MILLION, LK_EPROTO);
}

/* ---- lines ------------------------------------------------------------------- */

/* Feeds x, so many in all, in blocks as they come from a socket. */
static lk_status feed_line(size_t size, size_t *ret_fed)
{
    static char block[16 * 1024];
    lk_status status = LK_OK;

    memset(block, 'x', sizeof(block));
    *ret_fed = 0;
    while (status == LK_OK && *ret_fed < size) {
        size_t part = size - *ret_fed;
        redisReply *reply;

        if (part > sizeof(block))
            part = sizeof(block);
        status = feed(block, part, &reply);
        assert_null(reply);
        *ret_fed += part;
    }
    return status;
}

static void the_longest_line_is_read(NO_STATE)
{
    redisReply *reply;
    size_t fed;

    assert_fed("-");
    assert_status(feed_line(LK__RESP_LINE_MAX, &fed), LK_OK);
    assert_fed("\r");
    assert_status(feed("\n", 1, &reply), LK_OK);
    assert_int_equal(reply != NULL ? reply->len : 0, LK__RESP_LINE_MAX);
    freeReplyObject(reply);
}

static void assert_too_long(lk_status status)
{
    assert_status(status, LK_EPROTO);
    assert_string_equal(lk_last_error(),
                        "a line of the server's reply is too long");
}

/* It is not gathered, whatever it is the beginning of. */
static void a_line_without_an_end_is_refused(void **state)
{
    static const char *const heads[] = {"+", "-", ":", "$", "*", "*2\r\n$"};
    size_t fed;

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        redisReply *reply;

        assert_fed(heads[i]);
        assert_too_long(feed_line(MILLION, &fed));
        assert_in_range(fed, LK__RESP_LINE_MAX, LK__RESP_LINE_MAX + 16 * 1024);
        assert_too_long(feed("\r\n", 2, &reply));
        end(state);
        assert_int_equal(begin(state), 0);
    }
}

static void a_long_line_is_refused_with_its_end(NO_STATE)
{
    static char line[LK__RESP_LINE_MAX + 4];
    redisReply *reply;

    memset(line, 'x', sizeof(line));
    line[0] = '+';
    line[sizeof(line) - 2] = '\r';
    line[sizeof(line) - 1] = '\n';
    assert_too_long(feed(line, sizeof(line), &reply));
}

/* A string is no line, though it has no end of a line in it. */
static void a_long_string_is_no_line(NO_STATE)
{
    redisReply *reply;
    size_t fed;

    assert_fed("*1\r\n$1000000\r\n");
    assert_status(feed_line(MILLION, &fed), LK_OK);
    assert_status(feed("\r\n", 2, &reply), LK_OK);
    assert_int_equal(reply != NULL ? reply->element[0]->len : 0, MILLION);
    freeReplyObject(reply);
}

#define LIMIT_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int test_resp_limits(void)
{
    const struct CMUnitTest tests[] = {
        LIMIT_TEST(arrays_within_arrays_are_read),
        LIMIT_TEST(one_array_deeper_is_refused),
        LIMIT_TEST(a_million_arrays_within_each_other_are_refused),
        LIMIT_TEST(the_longest_line_is_read),
        LIMIT_TEST(a_line_without_an_end_is_refused),
        LIMIT_TEST(a_long_line_is_refused_with_its_end),
        LIMIT_TEST(a_long_string_is_no_line),
    };

    return cmocka_run_group_tests_name("resp_limits", tests, NULL, NULL);
}
