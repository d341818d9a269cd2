/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_REFUSAL_H
#define LK_CLAIMS_REFUSAL_H

#include <latchkey/status.h>

#include <stdint.h>

struct lk__place;

/* What the server found under a name, and what was asked for. */
typedef struct lk__found {
    int64_t number; /* 0: it did not say */
    uint64_t asked;
} lk__found;

/* A name of 100 bytes, what is quoted around it, and a server's words. */
enum { LK__REFUSAL_SIZE = 240 };

/*
 * What people are told of a name that cannot be had as it was asked for, where the
 * status is about that: which name, what was found and what was asked. words: the
 * server's, or NULL. Returns text; of another status, or of no name, words.
 */
const char *lk__refusal_words(const struct lk__place *place, lk_status status,
                              const char *words, lk__found found,
                              char text[LK__REFUSAL_SIZE]);

#endif /* LK_CLAIMS_REFUSAL_H */
