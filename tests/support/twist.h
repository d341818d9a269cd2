/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TWIST_H
#define LK_TESTS_SUPPORT_TWIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * An answer of a server, changed in one place. The places are the answer
 * itself, which is 0, and its elements in the order in which they are said,
 * those of arrays within it included.
 */

typedef enum twist_way {
    /* Something else stands there. */
    TWIST_NIL,
    TWIST_NIL_ARRAY,
    TWIST_EMPTY, /* text */
    TWIST_WORD,
    TWIST_STATUS,
    TWIST_ERROR,
    TWIST_EMPTY_ARRAY,
    TWIST_NESTED,
    /* It ends there: nothing follows; as an array that is shorter; as bytes
       behind which the stream ends; as bytes behind which nothing comes. */
    TWIST_SHORT,
    TWIST_CUT,
    TWIST_STALL,
    /* From here on it may say what is not so. */
    TWIST_DIGITS, /* a number as text */
    TWIST_ZERO,
    TWIST_ONE,
    TWIST_TWO,
    TWIST_MINUS,
    TWIST_MOST,
    TWIST_LARGE, /* the largest that is a number in an answer */
    TWIST_LEAST,
    TWIST_MISSING, /* and the rest follows */
    TWIST_TWICE,
    TWIST_WAYS
} twist_way;

typedef struct twist {
    unsigned place;
    twist_way way;
} twist;

/* A word for it. */
const char *twist_word(twist_way way);

/* Whether what comes of it may be a sound answer that is not true. */
bool twist_may_lie(twist_way way);

/* How many places an answer has; 0: the bytes are no whole answer. */
unsigned twist_places(const char *bytes, size_t size);

/* Returns the changed answer, *ret_size bytes, the caller's to free. */
char *twist_answer(const char *bytes, size_t size, twist how, size_t *ret_size);

#endif /* LK_TESTS_SUPPORT_TWIST_H */
