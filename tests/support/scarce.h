/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SCARCE_H
#define LK_TESTS_SUPPORT_SCARCE_H

#include "support/stand.h"

/*
 * Calls of every primitive that are made while memory is scarce; see memory.h. Each
 * returns LK_OK or LK_ENOMEM, and leaves the name free: scarce.c has the steps that they
 * are made of and a client's life, scarce_calls.c the calls.
 */

typedef struct scarce scarce;
typedef lk_status scarce_act(scarce *st);

/* What the calls are made on, and somebody else who wants the name. */
struct scarce {
    stand *stand;
    const kind *kind;
    party *party, *rival;
    bool is_shut;    /* by the rival */
    scarce_act *act; /* what is tried */
};

typedef struct scarce_call {
    const char *word;
    scarce_act *act;
    bool (*is_for)(const kind *k); /* NULL: all */
} scarce_call;

extern const scarce_call scarce_calls[];
extern const size_t scarce_count;

/* What could not be given back for want of memory ends with its lease, and is waited
   for. */
scarce scarce_on(stand *s);

/* For memory_fails_each(): does what is tried; and nobody is in, at the server as well.
   A flight that could not land for want of memory leaves its claim to the lease. */
lk_status scarce_play(void *data);
void scarce_assert_free(void *data, lk_status status);

/* How a life goes: NULL options are a client's own. */
typedef struct scarce_life {
    const lk_client_options *options;
    int64_t wait_ms, shutdown_ms;
} scarce_life;

/* From the first call on a client to the last one. */
lk_status scarce_live(scarce *st, const scarce_life *l);

/* ---- steps ---- */

/* The rival shuts the name, or opens it if it has; it has memory for that. */
void scarce_shut(scarce *st);
void scarce_open(scarce *st);

lk_status scarce_take(scarce *st, lk_hold **ret_hold);
lk_status scarce_give_back(scarce *st, lk_hold *hold);
lk_status scarce_give_back_async(scarce *st, lk_hold *hold);
/* The end of an acquire that has begun: what it got is given back. */
lk_status scarce_took_async(scarce *st, lk_status begun, call *c);

/* What could not be told for want of memory is done all the same. */
lk_status scarce_told(lk_status status);
lk_status scarce_first_of(lk_status status, lk_status then);
/* The end of a call that has begun. */
lk_status scarce_ended(lk_status begun, call *c);

#endif /* LK_TESTS_SUPPORT_SCARCE_H */
