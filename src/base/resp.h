/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_RESP_H
#define LK_BASE_RESP_H

#include <latchkey/status.h>

#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/*
 * Redis' protocol: commands into bytes, bytes into replies.
 */

/* ---- bytes waiting to be sent ------------------------------------------- */

/*
 * A queue of bytes. Those waiting are bytes[taken] to bytes[size - 1]. Zeroed
 * memory is an empty buffer without a cap. Pointers into it last until the
 * next append.
 */
typedef struct lk__buffer {
    char *bytes;
    size_t size;  /* end of the waiting bytes */
    size_t room;  /* allocated */
    size_t taken; /* begin of the waiting bytes */
    size_t cap;   /* most bytes that may wait; 0: no limit */
    /* Private: the command under construction. */
    size_t mark;
    unsigned args;
    lk_status status;
} lk__buffer;

/* Frees the memory; the buffer is empty and usable afterwards. */
void lk__buffer_done(lk__buffer *buffer);

/* Returns the waiting bytes and how many they are. */
const char *lk__buffer_bytes(const lk__buffer *buffer);
size_t lk__buffer_size(const lk__buffer *buffer);

/* Appends all or nothing: LK_OK, LK_ENOMEM, or LK_EFULL beyond the cap. */
lk_status lk__buffer_append(lk__buffer *buffer, const void *bytes, size_t size);

/* Takes size bytes off the front; they have been sent. */
void lk__buffer_consume(lk__buffer *buffer, size_t size);

/* Takes all bytes off; the memory stays. */
void lk__buffer_clear(lk__buffer *buffer);

/*
 * Several commands that go together: mark before, roll back if one fails.
 * A mark is void once something was consumed or cleared.
 */
size_t lk__buffer_mark(const lk__buffer *buffer);
void lk__buffer_rollback(lk__buffer *buffer, size_t mark);

/* ---- commands ----------------------------------------------------------- */

/*
 * Writes one command: begin, argc times an argument, end. Failures are kept
 * until the end, so only that is checked: LK_OK, or LK_ENOMEM or LK_EFULL and
 * the buffer is as it was at the begin. Arguments are bytes, copied.
 */
void lk__resp_begin(lk__buffer *buffer, unsigned argc);
void lk__resp_arg(lk__buffer *buffer, const void *bytes, size_t size);
void lk__resp_arg_str(lk__buffer *buffer, const char *text);
void lk__resp_arg_int(lk__buffer *buffer, int64_t number);
void lk__resp_arg_uint(lk__buffer *buffer, uint64_t number);
lk_status lk__resp_end(lk__buffer *buffer) __attribute__((warn_unused_result));

/* ---- replies ------------------------------------------------------------ */

/* What a server may make this process hold; more is LK_EPROTO. */
enum {
    LK__RESP_BYTES_MAX = 64 * 1024 * 1024, /* strings of one reply together */
    LK__RESP_ELEMENTS_MAX = 1024 * 1024,   /* array elements in one reply */
    LK__RESP_LINE_MAX = 64 * 1024, /* what is no string: errors, heads */
    LK__RESP_DEPTH_MAX = 16        /* arrays within arrays */
};

/* Makes a reader with the limits above; NULL: no memory. */
redisReader *lk__resp_reader_new(void);

/* Frees it, never with redisReaderFree(). NULL is allowed. */
void lk__resp_reader_free(redisReader *reader);

/*
 * Hands bytes to the reader: LK_OK, LK_ENOMEM, LK_EPROTO. After a failure
 * the reader is only good for freeing. Take out all replies after each feed.
 */
lk_status
lk__resp_reader_feed(redisReader *reader, const char *bytes, size_t size);

/*
 * Takes out the next reply; *ret_reply is NULL when it is not complete yet.
 * Free with freeReplyObject(). LK_EPROTO, LK_ENOMEM: as for a feed.
 */
lk_status lk__resp_reader_next(redisReader *reader, redisReply **ret_reply);

#endif /* LK_BASE_RESP_H */
