/* SPDX-License-Identifier: MIT */

/*
 * A byte queue, the commands written into it, and a reader of replies that
 * bounds what a server can make this process allocate.
 */

#include "base/resp.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"

enum {
    FIRST_ROOM = 256,
    KEPT_ROOM = 1024 * 1024, /* an empty buffer gives more than that back */
    NUMBER_SIZE = 32         /* type, sign, 20 digits, CR LF */
};

/* ---- bytes waiting to be sent ------------------------------------------- */

void lk__buffer_done(lk__buffer *buffer)
{
    lk__free(buffer->bytes);
    buffer->bytes = NULL;
    buffer->room = 0;
    lk__buffer_clear(buffer);
}

const char *lk__buffer_bytes(const lk__buffer *buffer)
{
    return buffer->bytes == NULL ? "" : buffer->bytes + buffer->taken;
}

size_t lk__buffer_size(const lk__buffer *buffer)
{
    return buffer->size - buffer->taken;
}

static void compact(lk__buffer *buffer)
{
    size_t waiting = lk__buffer_size(buffer);

    memmove(buffer->bytes, buffer->bytes + buffer->taken, waiting);
    buffer->taken = 0;
    buffer->size = waiting;
}

static bool grow(lk__buffer *buffer, size_t extra)
{
    size_t room = buffer->room == 0 ? FIRST_ROOM : buffer->room;
    char *bytes;

    if (extra > SIZE_MAX / 4 - buffer->size)
        return false;
    while (room - buffer->size < extra)
        room *= 2;
    bytes = lk__realloc(buffer->bytes, room);
    if (bytes == NULL)
        return false;
    buffer->bytes = bytes;
    buffer->room = room;
    return true;
}

/*
 * Makes room for extra bytes at the end. Waiting bytes are moved to the front
 * only when more than their number have left: each byte moves O(1) times.
 */
static lk_status make_room(lk__buffer *buffer, size_t extra)
{
    size_t waiting = lk__buffer_size(buffer);
    bool fits;

    if (buffer->cap != 0 &&
        (waiting > buffer->cap || extra > buffer->cap - waiting))
        return LK_EFULL;
    if (buffer->room - buffer->size >= extra)
        return LK_OK;

    fits = buffer->room - waiting >= extra;
    if (fits && buffer->taken >= waiting) {
        compact(buffer);
        return LK_OK;
    }
    if (grow(buffer, extra))
        return LK_OK;
    if (!fits)
        return LK_ENOMEM;
    compact(buffer);
    return LK_OK;
}

/* After make_room(). */
static void put(lk__buffer *buffer, const void *bytes, size_t size)
{
    if (size != 0)
        memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

static lk_status buffer_fail(lk_status status)
{
    return lk__fail(status, status == LK_EFULL
                                ? "too many bytes wait to be sent"
                                : "out of memory");
}

lk_status lk__buffer_append(lk__buffer *buffer, const void *bytes, size_t size)
{
    lk_status status = make_room(buffer, size);

    if (status != LK_OK)
        return buffer_fail(status);
    put(buffer, bytes, size);
    return LK_OK;
}

void lk__buffer_consume(lk__buffer *buffer, size_t size)
{
    assert(size <= lk__buffer_size(buffer));
    buffer->taken += size;
    if (buffer->taken != buffer->size)
        return;
    if (buffer->room > KEPT_ROOM)
        lk__buffer_done(buffer);
    else
        lk__buffer_clear(buffer);
}

void lk__buffer_clear(lk__buffer *buffer)
{
    buffer->size = 0;
    buffer->taken = 0;
}

size_t lk__buffer_mark(const lk__buffer *buffer)
{
    return lk__buffer_size(buffer);
}

void lk__buffer_rollback(lk__buffer *buffer, size_t mark)
{
    assert(mark <= lk__buffer_size(buffer));
    buffer->size = buffer->taken + mark;
}

/* ---- commands ----------------------------------------------------------- */

/* Writes a type byte, a number and CR LF, with room for more after it. */
static bool put_head(lk__buffer *buffer, char type, size_t number, size_t more)
{
    size_t size = 1 + lk__digits_count(number) + 2;
    char *at;

    buffer->status =
        more > SIZE_MAX - size ? LK_ENOMEM : make_room(buffer, size + more);
    if (buffer->status != LK_OK)
        return false;
    at = buffer->bytes + buffer->size;
    *at = type;
    (void)lk__digits_before(at + size - 2, number);
    at[size - 2] = '\r';
    at[size - 1] = '\n';
    buffer->size += size;
    return true;
}

void lk__resp_begin(lk__buffer *buffer, unsigned argc)
{
    buffer->mark = lk__buffer_mark(buffer);
    buffer->args = argc;
    (void)put_head(buffer, '*', argc, 0);
}

void lk__resp_arg(lk__buffer *buffer, const void *bytes, size_t size)
{
    assert(buffer->args != 0);
    buffer->args--;
    if (buffer->status != LK_OK)
        return;
    if (size > SIZE_MAX - 2) {
        buffer->status = LK_ENOMEM;
        return;
    }
    if (!put_head(buffer, '$', size, size + 2))
        return;
    put(buffer, bytes, size);
    put(buffer, "\r\n", 2);
}

void lk__resp_arg_str(lk__buffer *buffer, const char *text)
{
    lk__resp_arg(buffer, text, strlen(text));
}

void lk__resp_arg_uint(lk__buffer *buffer, uint64_t number)
{
    char text[LK__DIGITS_SIZE];
    char *begin = lk__digits_before(text + sizeof(text), number);

    lk__resp_arg(buffer, begin, (size_t)(text + sizeof(text) - begin));
}

void lk__resp_arg_int(lk__buffer *buffer, int64_t number)
{
    char text[LK__DIGITS_SIZE];
    char *begin = lk__digits_before_signed(text + sizeof(text), number);

    lk__resp_arg(buffer, begin, (size_t)(text + sizeof(text) - begin));
}

lk_status lk__resp_end(lk__buffer *buffer)
{
    assert(buffer->args == 0);
    if (buffer->status == LK_OK)
        return LK_OK;
    lk__buffer_rollback(buffer, buffer->mark);
    return buffer_fail(buffer->status);
}

/* ---- replies ------------------------------------------------------------ */

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

/*
 * What a reader has let one reply allocate. It is the reader's privdata, and
 * holds the functions that ask it, in front of those of hiredis.
 */
typedef struct reader_limits {
    redisReplyObjectFunctions functions;
    const redisReplyObjectFunctions *base;
    size_t bytes;
    size_t elements;
    const char *refused; /* why it is not taken; NULL: it is */
} reader_limits;

static const char too_large[] = "the server's reply is too large";
static const char too_deep[] = "the server's reply has lists within too many";
static const char too_long[] = "a line of the server's reply is too long";

/* Adds to a count; at the root of a reply the count begins again. */
static bool allow(reader_limits *limits, const redisReadTask *task,
                  size_t *count, size_t more, size_t max)
{
    if (task->parent == NULL) {
        limits->bytes = 0;
        limits->elements = 0;
    }
    if (more > max - *count) {
        limits->refused = too_large;
        return false;
    }
    *count += more;
    return true;
}

/* hiredis 1 nests without an end, and frees what is nested by recursion. */
static bool allow_depth(reader_limits *limits, const redisReadTask *task)
{
    int depth = 1;

    for (; task->parent != NULL && depth <= LK__RESP_DEPTH_MAX; depth++)
        task = task->parent;
    if (depth > LK__RESP_DEPTH_MAX)
        limits->refused = too_deep;
    return depth <= LK__RESP_DEPTH_MAX;
}

static void *create_string(const redisReadTask *task, char *text, size_t size)
{
    reader_limits *limits = task->privdata;

    if (task->type != REDIS_REPLY_STRING && size > LK__RESP_LINE_MAX) {
        limits->refused = too_long;
        return NULL;
    }
    if (!allow(limits, task, &limits->bytes, size, LK__RESP_BYTES_MAX))
        return NULL;
    return limits->base->createString(task, text, size);
}

static void *create_array(const redisReadTask *task, element_count elements)
{
    reader_limits *limits = task->privdata;

    if (!allow_depth(limits, task) ||
        !allow(limits, task, &limits->elements, (size_t)elements,
               LK__RESP_ELEMENTS_MAX))
        return NULL;
    return limits->base->createArray(task, elements);
}

redisReader *lk__resp_reader_new(void)
{
    reader_limits *limits = lk__alloc(sizeof(*limits));
    redisReader *reader;

    if (limits == NULL)
        return NULL;
    reader = redisReaderCreate();
    if (reader == NULL) {
        lk__free(limits);
        return NULL;
    }
    limits->base = reader->fn;
    limits->functions = *reader->fn;
    limits->functions.createString = create_string;
    limits->functions.createArray = create_array;
    reader->fn = &limits->functions;
    reader->privdata = limits;
    return reader;
}

void lk__resp_reader_free(redisReader *reader)
{
    reader_limits *limits;

    if (reader == NULL)
        return;
    limits = reader->privdata;
    redisReaderFree(reader);
    lk__free(limits);
}

static lk_status reader_fail(const redisReader *reader)
{
    const reader_limits *limits = reader->privdata;

    if (limits->refused != NULL)
        return lk__fail(LK_EPROTO, "%s", limits->refused);
    if (reader->err == REDIS_ERR_OOM)
        return lk__fail(LK_ENOMEM, "out of memory for the server's reply");
    return lk__fail(LK_EPROTO, "the server's reply is not understood: %s",
                    reader->errstr);
}

lk_status
lk__resp_reader_feed(redisReader *reader, const char *bytes, size_t size)
{
    reader_limits *limits = reader->privdata;

    /*
     * A string becomes an object only when all of it is here; until then it
     * grows in the reader's buffer, which is bounded for that.
     */
    if (reader->err == 0 &&
        reader->len - reader->pos > LK__RESP_BYTES_MAX + (size_t)NUMBER_SIZE) {
        limits->refused = too_large;
        return reader_fail(reader);
    }
    if (redisReaderFeed(reader, bytes, size) != REDIS_OK)
        return reader_fail(reader);
    return LK_OK;
}

/*
 * Whether what is left over is a line whose end does not come. hiredis looks
 * for it from the beginning each time that more has come. Before the bytes of a
 * string there is the line that says how many they are.
 */
static bool is_endless(const redisReader *reader)
{
    static const char end[] = {'\r', '\n'};
    const size_t most = LK__RESP_LINE_MAX + sizeof(end);

    return reader->len - reader->pos >= most &&
           memmem(reader->buf + reader->pos, most, end, sizeof(end)) == NULL;
}

lk_status lk__resp_reader_next(redisReader *reader, redisReply **ret_reply)
{
    reader_limits *limits = reader->privdata;
    void *reply = NULL;

    if (limits->refused != NULL ||
        redisReaderGetReply(reader, &reply) != REDIS_OK)
        return reader_fail(reader);
    if (reply == NULL && is_endless(reader)) {
        limits->refused = too_long;
        return reader_fail(reader);
    }
    *ret_reply = reply;
    return LK_OK;
}
