/* SPDX-License-Identifier: MIT */
#ifndef LK_FUZZ_CALLS_H
#define LK_FUZZ_CALLS_H

#include <latchkey/latchkey.h>

#include "host.h"

/*
 * Calls under way, and what they gave. Each one that was begun ends once, and
 * none ends with a hold unless somebody may have given it, nor with one that
 * is believed to last longer than was asked for.
 */

enum { CALLS_HOLDS = 6 };

typedef struct calls {
    host *h;
    lk_cancel *cancel;
    unsigned begun, ended;
    uint64_t longest_ms; /* lease that anybody has asked for */
    lk_hold *holds[CALLS_HOLDS];
    size_t hold_count;
} calls;

void calls_begin(calls *c, host *h);

/* Lets go of what is held, shuts the client down, and looks whether all calls
   have ended. */
void calls_end(calls *c);

/* Counts a call that was begun; status: what the function answered. */
void calls_began(calls *c, lk_status status);

/* Callbacks; data is the calls. */
void calls_on_acquire(lk_status status, lk_hold *hold, void *data);
void calls_on_done(lk_status status, void *data);
void calls_on_info(lk_status status, lk_info *info, void *data);
void calls_on_revoke(lk_status status, int64_t left_ms, void *data);

/* The same of a call that has waited. */
void calls_take(calls *c, lk_status status, lk_hold *hold);

/* Options out of the input; times that matter and others. */
void calls_options(calls *c, input *in, lk_acquire_options *options);
int64_t calls_wait_ms(input *in);

/* Does something with one of the holds. */
void calls_use(calls *c, input *in);

#endif /* LK_FUZZ_CALLS_H */
