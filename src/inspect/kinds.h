/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_KINDS_H
#define LK_INSPECT_KINDS_H

#include <latchkey/inspect.h>

#include <hiredis/hiredis.h>

#include "server/shape.h"

/*
 * What keys say about names. Nothing here talks to anybody.
 */

/* Two of these keys, as names.h says forms. */
#define LK__RECORD_FORM  ":r"
#define LK__TIMEOUT_END  ":timeout"
#define LK__TIMEOUT_FORM "{N}" LK__TIMEOUT_END

/* Keys that a name is found by. */
typedef enum lk__trace {
    LK__TRACE_NONE,
    LK__TRACE_RECORD,  /* latchkey:{N}:r */
    LK__TRACE_TIMEOUT, /* {N}:timeout */
    LK__TRACE_NAME     /* any other: N itself */
} lk__trace;

/*
 * Tells the name that a key belongs to, as a part of the key, and by which
 * key. NONE: it is of Latchkey's but does not tell of a name, or no name can
 * be so.
 */
lk__trace lk__trace_of(const char *key, size_t size, const char **ret_name,
                       size_t *ret_size);

/* The kind that the first field of a record says. */
lk_kind lk__kind_of_layout(lk__text layout);

/* What stands in a hash that may be a lock's. */
typedef struct lk__fields {
    lk_kind kind;      /* NONE: it is another hash */
    size_t count;      /* holders among these fields */
    const char *owner; /* one of them, the writer if there is one; borrowed */
    size_t owner_size; /* without `:write` */
    const char *mode;  /* "read", "write", "" */
    uint64_t entries;  /* its value */
} lk__fields;

/* Reads an array of fields and values, as HSCAN answers it. */
void lk__fields_read(lk__fields *fields, const redisReply *array);

/* Whether text is of the pattern, as Redis sees it: * ? [a-z] [^a] \. */
bool lk__glob(const char *pattern, const char *text);

#endif /* LK_INSPECT_KINDS_H */
