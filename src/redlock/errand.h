/* SPDX-License-Identifier: MIT */
#ifndef LK_REDLOCK_ERRAND_H
#define LK_REDLOCK_ERRAND_H

#include "redlock/token.h"

/* One request about a token to one server; see vote.c. It keeps the token's memory. */
struct lk__errand {
    lk__ask ask; /* first */
    lk__vote *vote;
    uint64_t lease_ms;
    uint64_t sent_at; /* of the request that was answered */
    bool stands;      /* the answer: the token stands, or did until its close */
    int64_t left_ms;  /* of an acquire: what another's has; below 0: no end */
    lk_loss loss;     /* of a keep */
    bool regular;     /* a renewal of the vote's own */
    bool asks;        /* a close, whether the server has DELIFEQ */
};

lk__errand *lk__errand_of(lk__ask *ask);

/* Each is within the monitor of the vote's client. NULL: out of memory. */
lk__errand *lk__errand_acquire(lk__vote *vote, void (*ended)(lk__ask *ask));
lk__errand *
lk__errand_keep(lk__vote *vote, uint64_t lease_ms, void (*ended)(lk__ask *ask));
lk__errand *lk__errand_close(lk__vote *vote, void (*ended)(lk__ask *ask));

#endif /* LK_REDLOCK_ERRAND_H */
