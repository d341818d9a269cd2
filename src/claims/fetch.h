/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_FETCH_H
#define LK_CLAIMS_FETCH_H

#include "claims/ask.h"

/*
 * The values of keys of any slots of a cluster, each asked for by itself, all at
 * once, for a question that is answered already. They are an extra: what has not
 * come in LK__FETCH_MS stays unknown. Inside the monitor.
 */
typedef struct lk__fetch lk__fetch;

enum { LK__FETCH_MS = 500, LK__FETCH_MOST = 1024 };

/*
 * For the question's take(), which then has more to come: its call ends with LK_OK
 * when all are there, or the time is over. key writes the key of a number below
 * count, into LK__RECORD_KEY_SIZE bytes. NULL: no memory.
 */
lk__fetch *lk__fetch_begin(lk__ask *ask, size_t count,
                           void (*key)(void *data, size_t i, char *ret_key),
                           void *data);

/* When the call is over: the value of a number, the caller's then; free with
   lk__free(). NULL: none has come. */
char *lk__fetch_take(lk__fetch *fetch, size_t i);

/* Not within what ends questions. NULL is allowed. */
void lk__fetch_free(lk__fetch *fetch);

#endif /* LK_CLAIMS_FETCH_H */
