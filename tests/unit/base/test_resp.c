/* SPDX-License-Identifier: MIT */

/* Commands into bytes, bytes into replies. hiredis is the yardstick. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/resp.h"
#include "support/check.h"

static lk__buffer buffer;
static redisReader *reader;

static int begin(NO_STATE)
{
    memset(&buffer, 0, sizeof(buffer));
    reader = lk__resp_reader_new();
    return reader == NULL;
}

static int end(NO_STATE)
{
    lk__mem_fail(NULL);
    lk__buffer_done(&buffer);
    lk__resp_reader_free(reader);
    return 0;
}

static bool always(void)
{
    return true;
}

static void assert_waiting(const char *bytes)
{
    assert_int_equal(lk__buffer_size(&buffer), strlen(bytes));
    assert_memory_equal(lk__buffer_bytes(&buffer), bytes, strlen(bytes));
}

#define RESP_TEST(name) CHECK_TEST_OF(name, NO_STATE, begin, end)

/* ---- the buffer --------------------------------------------------------- */

RESP_TEST(an_empty_buffer_has_no_bytes)
{
    assert_int_equal(lk__buffer_size(&buffer), 0);
    assert_non_null(lk__buffer_bytes(&buffer));
    assert_status(lk__buffer_append(&buffer, NULL, 0), LK_OK);
    assert_int_equal(lk__buffer_size(&buffer), 0);
}

RESP_TEST(what_was_appended_waits)
{
    assert_status(lk__buffer_append(&buffer, "abc", 3), LK_OK);
    assert_status(lk__buffer_append(&buffer, "de", 2), LK_OK);
    assert_waiting("abcde");
    lk__buffer_consume(&buffer, 2);
    assert_waiting("cde");
    lk__buffer_clear(&buffer);
    assert_waiting("");
}

RESP_TEST(what_follows_a_mark_can_be_rolled_back)
{
    size_t mark;

    assert_status(lk__buffer_append(&buffer, "abc", 3), LK_OK);
    lk__buffer_consume(&buffer, 1);
    mark = lk__buffer_mark(&buffer);
    assert_status(lk__buffer_append(&buffer, "defg", 4), LK_OK);
    lk__buffer_rollback(&buffer, mark);
    assert_waiting("bc");
}

RESP_TEST(a_rollback_holds_after_the_bytes_have_moved)
{
    static char block[1000];
    size_t mark;

    assert_status(lk__buffer_append(&buffer, "abc", 3), LK_OK);
    lk__buffer_consume(&buffer, 1);
    mark = lk__buffer_mark(&buffer);
    for (int i = 0; i < 100; i++)
        assert_status(lk__buffer_append(&buffer, block, sizeof(block)), LK_OK);
    lk__buffer_rollback(&buffer, mark);
    assert_waiting("bc");
}

RESP_TEST(the_cap_counts_what_waits)
{
    buffer.cap = 4;
    assert_status(lk__buffer_append(&buffer, "abc", 3), LK_OK);
    assert_status(lk__buffer_append(&buffer, "de", 2), LK_EFULL);
    assert_waiting("abc");
    assert_status(lk__buffer_append(&buffer, "d", 1), LK_OK);
    lk__buffer_consume(&buffer, 2);
    assert_status(lk__buffer_append(&buffer, "ef", 2), LK_OK);
    assert_waiting("cdef");
}

RESP_TEST(an_append_without_memory_changes_nothing)
{
    static char block[300];

    assert_status(lk__buffer_append(&buffer, "abc", 3), LK_OK);
    lk__mem_fail(always);
    assert_status(lk__buffer_append(&buffer, block, 300), LK_ENOMEM);
    assert_waiting("abc");
}

RESP_TEST(room_that_was_used_is_used_again)
{
    static char block[100];
    size_t room;

    assert_status(lk__buffer_append(&buffer, block, 100), LK_OK);
    room = buffer.room;
    for (int i = 0; i < 1000; i++) {
        assert_status(lk__buffer_append(&buffer, block, 100), LK_OK);
        lk__buffer_consume(&buffer, 100);
    }
    assert_int_equal(buffer.room, room);
}

RESP_TEST(without_memory_the_bytes_move_up)
{
    static char block[200];

    assert_status(lk__buffer_append(&buffer, block, 200), LK_OK);
    lk__buffer_consume(&buffer, 60);
    lk__mem_fail(always);
    assert_status(lk__buffer_append(&buffer, block, 100), LK_OK);
    assert_int_equal(lk__buffer_size(&buffer), 240);
}

RESP_TEST(a_large_buffer_is_given_back_once_empty)
{
    static char block[1 << 20];

    for (int i = 0; i < 3; i++)
        assert_status(lk__buffer_append(&buffer, block, sizeof(block)), LK_OK);
    lk__buffer_consume(&buffer, 3 * sizeof(block));
    assert_int_equal(buffer.room, 0);
}

RESP_TEST(a_size_beyond_all_memory_is_refused)
{
    assert_status(lk__buffer_append(&buffer, "abc", 3), LK_OK);
    assert_status(lk__buffer_append(&buffer, "x", SIZE_MAX), LK_ENOMEM);
    assert_status(lk__buffer_append(&buffer, "x", SIZE_MAX / 2), LK_ENOMEM);
    assert_waiting("abc");
}

/* ---- commands ----------------------------------------------------------- */

RESP_TEST(a_command_is_an_array_of_strings)
{
    lk__resp_begin(&buffer, 2);
    lk__resp_arg_str(&buffer, "GET");
    lk__resp_arg(&buffer, "a\0b", 3);
    assert_status(lk__resp_end(&buffer), LK_OK);
    assert_int_equal(lk__buffer_size(&buffer), 22);
    assert_memory_equal(lk__buffer_bytes(&buffer),
                        "*2\r\n$3\r\nGET\r\n$3\r\na\0b\r\n", 22);
}

static void assert_integer(int64_t number, const char *digits)
{
    char expected[64];

    (void)snprintf(expected, sizeof(expected), "*1\r\n$%zu\r\n%s\r\n",
                   strlen(digits), digits);
    lk__buffer_clear(&buffer);
    lk__resp_begin(&buffer, 1);
    lk__resp_arg_int(&buffer, number);
    assert_status(lk__resp_end(&buffer), LK_OK);
    assert_waiting(expected);
}

RESP_TEST(integers_are_written_in_decimal)
{
    assert_integer(0, "0");
    assert_integer(7, "7");
    assert_integer(-7, "-7");
    assert_integer(1000000, "1000000");
    assert_integer(INT64_MAX, "9223372036854775807");
    assert_integer(INT64_MIN, "-9223372036854775808");
}

RESP_TEST(unsigned_integers_have_all_their_bits)
{
    lk__resp_begin(&buffer, 1);
    lk__resp_arg_uint(&buffer, UINT64_MAX);
    assert_status(lk__resp_end(&buffer), LK_OK);
    assert_waiting("*1\r\n$20\r\n18446744073709551615\r\n");
}

/* Up to 40 arguments of up to 2000 random bytes. */
RESP_TEST(any_command_is_written_as_hiredis_writes_it)
{
    static char bytes[40][2000];
    unsigned seed = 1;

    for (int round = 0; round < 300; round++) {
        const char *argv[40];
        size_t sizes[40];
        int argc = 1 + rand_r(&seed) % 40;
        char *expected = NULL;
        long long size; /* of hiredis 1; an int before */

        lk__buffer_clear(&buffer);
        lk__resp_begin(&buffer, (unsigned)argc);
        for (int i = 0; i < argc; i++) {
            argv[i] = bytes[i];
            sizes[i] = (size_t)rand_r(&seed) % (1U << rand_r(&seed) % 11);
            for (size_t j = 0; j < sizes[i]; j++)
                bytes[i][j] = (char)rand_r(&seed);
            lk__resp_arg(&buffer, argv[i], sizes[i]);
        }
        assert_status(lk__resp_end(&buffer), LK_OK);

        size = redisFormatCommandArgv(&expected, argc, argv, sizes);
        assert_int_equal(lk__buffer_size(&buffer), size);
        assert_memory_equal(lk__buffer_bytes(&buffer), expected, (size_t)size);
        redisFreeCommand(expected);
    }
}

static int countdown;

static bool fails_at_the_end_of_the_countdown(void)
{
    return countdown-- == 0;
}

/* Three arguments, of which each needs more memory than the one before. */
static lk_status write_large_command(void)
{
    static char block[9000];

    lk__resp_begin(&buffer, 3);
    lk__resp_arg(&buffer, block, 300);
    lk__resp_arg(&buffer, block, 3000);
    lk__resp_arg(&buffer, block, 9000);
    return lk__resp_end(&buffer);
}

RESP_TEST(a_command_is_written_whole_or_not_at_all)
{
    int failures = 0;
    lk_status status;

    do {
        lk__mem_fail(NULL);
        lk__buffer_done(&buffer);
        assert_status(lk__buffer_append(&buffer, "before", 6), LK_OK);
        countdown = failures;
        lk__mem_fail(fails_at_the_end_of_the_countdown);
        status = write_large_command();
        if (status != LK_OK) {
            assert_status(status, LK_ENOMEM);
            assert_waiting("before");
            failures++;
        }
    } while (status != LK_OK);
    assert_int_equal(failures, 3);
}

RESP_TEST(a_command_beyond_the_cap_leaves_nothing)
{
    buffer.cap = 1000;
    assert_status(lk__buffer_append(&buffer, "before", 6), LK_OK);
    assert_status(write_large_command(), LK_EFULL);
    assert_waiting("before");
}

RESP_TEST(a_failed_command_does_not_spoil_the_next)
{
    lk__mem_fail(always);
    assert_status(write_large_command(), LK_ENOMEM);
    lk__mem_fail(NULL);
    lk__resp_begin(&buffer, 1);
    lk__resp_arg_str(&buffer, "PING");
    assert_status(lk__resp_end(&buffer), LK_OK);
    assert_waiting("*1\r\n$4\r\nPING\r\n");
}

/* ---- replies ------------------------------------------------------------ */

static lk_status feed(const char *bytes)
{
    return lk__resp_reader_feed(reader, bytes, strlen(bytes));
}

/* The next reply; NULL: not complete. */
static redisReply *next(void)
{
    redisReply *reply = NULL;

    assert_status(lk__resp_reader_next(reader, &reply), LK_OK);
    return reply;
}

static void assert_no_next(lk_status status)
{
    redisReply *reply = NULL;

    assert_status(lk__resp_reader_next(reader, &reply), status);
    assert_null(reply);
}

RESP_TEST(a_reply_is_read)
{
    redisReply *reply;

    assert_status(feed("*3\r\n:7\r\n$2\r\nab\r\n*-1\r\n"), LK_OK);
    reply = next();
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_int_equal(reply->elements, 3);
    assert_int_equal(reply->element[0]->integer, 7);
    assert_string_equal(reply->element[1]->str, "ab");
    assert_int_equal(reply->element[2]->type, REDIS_REPLY_NIL);
    freeReplyObject(reply);
    assert_null(next());
}

RESP_TEST(a_reply_may_come_byte_by_byte)
{
    const char *bytes = "*2\r\n$2\r\nab\r\n*1\r\n+OK\r\n";
    redisReply *reply = NULL;

    for (; *bytes != '\0'; bytes++) {
        assert_null(reply);
        assert_status(lk__resp_reader_feed(reader, bytes, 1), LK_OK);
        reply = next();
    }
    assert_non_null(reply);
    assert_string_equal(reply->element[1]->element[0]->str, "OK");
    freeReplyObject(reply);
}

RESP_TEST(several_replies_may_come_at_once)
{
    assert_status(feed("+A\r\n+B\r\n+C"), LK_OK);
    for (int i = 0; i < 2; i++) {
        redisReply *reply = next();

        assert_non_null(reply);
        freeReplyObject(reply);
    }
    assert_null(next());
}

RESP_TEST(what_is_no_protocol_is_refused)
{
    assert_status(feed("HTTP/1.1 400 Bad Request\r\n"), LK_OK);
    assert_no_next(LK_EPROTO);
    assert_no_next(LK_EPROTO);
    assert_status(feed("+OK\r\n"), LK_EPROTO);
}

RESP_TEST(a_huge_array_is_refused_before_it_is_made)
{
    assert_status(feed("*2147483647\r\n"), LK_OK);
    assert_no_next(LK_EPROTO);
    assert_string_equal(lk_last_error(), "the server's reply is too large");
}

RESP_TEST(the_largest_array_is_taken)
{
    assert_status(feed("*1048576\r\n"), LK_OK);
    assert_no_next(LK_OK);
}

RESP_TEST(one_element_more_is_refused)
{
    assert_status(feed("*1048577\r\n"), LK_OK);
    assert_no_next(LK_EPROTO);
}

RESP_TEST(the_elements_of_all_arrays_of_a_reply_count)
{
    assert_status(feed("*3\r\n*600000\r\n*600000\r\n"), LK_OK);
    assert_no_next(LK_EPROTO);
}

RESP_TEST(each_reply_counts_anew)
{
    for (int i = 0; i < 3; i++) {
        redisReply *reply;

        assert_status(feed("*2\r\n*0\r\n+OK\r\n"), LK_OK);
        reply = next();
        assert_non_null(reply);
        freeReplyObject(reply);
    }
    assert_status(feed("*1048576\r\n"), LK_OK);
    assert_no_next(LK_OK);
}

/* Feeds so many bytes of content in blocks, taking replies as they come. */
static lk_status feed_content(size_t size)
{
    static char block[1 << 20];

    memset(block, 'x', sizeof(block));
    while (size != 0) {
        size_t part = size < sizeof(block) ? size : sizeof(block);
        redisReply *reply = NULL;
        lk_status status = lk__resp_reader_feed(reader, block, part);

        if (status == LK_OK)
            status = lk__resp_reader_next(reader, &reply);
        if (status != LK_OK)
            return status;
        assert_null(reply);
        size -= part;
    }
    return LK_OK;
}

RESP_TEST(the_largest_string_is_taken)
{
    redisReply *reply;

    assert_status(feed("$67108864\r\n"), LK_OK);
    assert_status(feed_content(LK__RESP_BYTES_MAX), LK_OK);
    assert_status(feed("\r\n"), LK_OK);
    reply = next();
    assert_non_null(reply);
    assert_int_equal(reply->len, LK__RESP_BYTES_MAX);
    freeReplyObject(reply);
}

RESP_TEST(a_huge_string_is_not_gathered)
{
    assert_status(feed("$2147483647\r\n"), LK_OK);
    assert_status(feed_content((size_t)LK__RESP_BYTES_MAX * 2), LK_EPROTO);
    assert_string_equal(lk_last_error(), "the server's reply is too large");
    assert_true(reader->len < (size_t)LK__RESP_BYTES_MAX + (2 << 20));
    assert_status(feed("x"), LK_EPROTO);
}

RESP_TEST(the_strings_of_a_reply_count_together)
{
    assert_status(feed("*3\r\n$40000000\r\n"), LK_OK);
    assert_status(feed_content(40000000), LK_OK);
    assert_status(feed("\r\n$40000000\r\n"), LK_OK);
    assert_no_next(LK_OK);
    assert_status(feed_content(40000000), LK_OK);
    assert_status(feed("\r\n"), LK_OK);
    assert_no_next(LK_EPROTO);
}

RESP_TEST(a_reader_needs_memory)
{
    lk__mem_fail(always);
    assert_null(lk__resp_reader_new());
}

RESP_TEST(freeing_no_reader_is_allowed)
{
    lk__resp_reader_free(NULL);
}
