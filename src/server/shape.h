/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_SHAPE_H
#define LK_SERVER_SHAPE_H

#include <latchkey/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "server/conn.h"

/*
 * What a script gets and answers, as the tables in lua/ say it: see
 * docs/protocol.md. The structs and the shapes of each script are made from its
 * table; here is what writes and reads them.
 */

/* Bytes that are somebody else's: the caller's, or a reply's. */
typedef struct lk__text {
    const char *bytes;
    size_t size;
} lk__text;

typedef enum lk__value_type {
    LK__VALUE_TEXT,
    LK__VALUE_REST,   /* of a packed text: all that follows */
    LK__VALUE_NUMBER, /* 0 to 2^53 - 1, as int64_t */
    LK__VALUE_SIGNED, /* the same below 0, too */
    LK__VALUE_FLAG,   /* 0 or 1, as bool */
    LK__VALUE_WORD,   /* one letter */
    LK__VALUE_LIST    /* groups, as lk__list */
} lk__value_type;

typedef struct lk__shape lk__shape;

/* One value of an answer or of a packed text, at offset in its struct. */
typedef struct lk__value {
    unsigned char type;
    size_t offset;
    const lk__shape *group; /* of a list */
} lk__value;

/* An answer behind its number, or a group of a list. */
struct lk__shape {
    const lk__value *values;
    size_t count;
};

/* The answers of a script; the first has the number 1. */
typedef struct lk__answers {
    const lk__shape *shapes;
    size_t count;
} lk__answers;

/* Groups within a reply, checked when the reply was read. */
typedef struct lk__list {
    const redisReply *reply;
    const lk__shape *group;
} lk__list;

/* There is no such member. */
#define LK__NOT_GIVEN SIZE_MAX

typedef struct lk__arg_value {
    unsigned char type;
    size_t offset;
    size_t given;        /* of an option: where its bool is */
    const char *letters; /* of a word: those that may be */
} lk__arg_value;

/* The arguments of a script; those that repeat are lk__text. */
typedef struct lk__args_shape {
    const lk__arg_value *values;
    size_t count;
    size_t each, each_count;
} lk__args_shape;

/* A text of fields with one separator between. */
typedef struct lk__packed {
    const lk__value *values;
    size_t count;
    char separator;
} lk__packed;

/* A script, with all that is needed to call it. */
typedef struct lk__signature {
    const lk__script *script;
    const unsigned char *keys;  /* which of the family's, in their order */
    const lk__args_shape *args; /* NULL: it has none */
    const lk__answers *answers;
} lk__signature;

/* How many arguments these are. */
size_t lk__args_count(const lk__args_shape *shape, const void *args);

/* Writes them in their order. They refer to what args refers to, not to it. A
   letter that the table does not have is the caller's mistake. */
void lk__args_write(const lk__args_shape *shape, const void *args,
                    lk__arg *ret_args);

/* Reads a reply into the script's struct, whose first member is the number of
   the answer. LK_OK; LK_EPROTO where anything is not as the table says, and
   then the struct says nothing; or what the server's error means. Texts and
   lists live as long as the reply. */
lk_status lk__answer_read(const lk__answers *answers, const redisReply *reply,
                          void *ret_answer);

/* How many groups there are, and the i-th of them into its struct. */
size_t lk__list_count(const lk__list *list);
void lk__list_get(const lk__list *list, size_t i, void *ret_group);

/* Writes a packed text, with a NUL behind it, into size bytes. Returns its
   length, or that which it would have. */
size_t lk__packed_write(const lk__packed *packed, const void *from, char *ret,
                        size_t size);

/* Reads one; false: it is none. Texts refer to text. */
bool lk__packed_read(const lk__packed *packed, lk__text text, void *ret);

#endif /* LK_SERVER_SHAPE_H */
