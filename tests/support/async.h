/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_ASYNC_H
#define LK_TESTS_SUPPORT_ASYNC_H

#include "support/stand.h"

/*
 * Calls of a party that do not block, for tests that make each of them in both
 * modes: callbacks run on the client's loop, or where the test dispatches.
 */

enum { ASYNC_LOOP = 0, ASYNC_DISPATCH = 1, ASYNC_MODES = 2 };

party *async_party(stand *s, uint64_t mode);

/* Calls on several clients go on being dispatched until they have ended: for kinds of
   one. */
bool async_is_alone(const kind *k);
/* A multilock's members have to live longer than its calls: for all others. */
bool async_is_whole(const kind *k);

/* ---- what begins ---- */

void async_begin(party *p, int64_t wait_ms, const lk_acquire_options *options,
                 call *c);

lk_status async_begin_ready(party *p, lk_done_cb cb, call *c);
/* Of the party's hold; the second one ends it. */
lk_status async_begin_extend(party *p, lk_done_cb cb, call *c);
lk_status async_begin_open(party *p, lk_done_cb cb, call *c);
lk_status async_begin_ask(party *p, lk_done_cb cb, call *c);
/* The callback is call_on_info(). */
lk_status async_begin_info(party *p, lk_done_cb cb, call *c);
lk_status async_begin_shutdown(party *p, lk_done_cb cb, call *c);

/* ---- what ends ---- */

/* Whether this call has ended. */
bool async_is_over(void *data);
/* Waits for a condition; the party dispatches meanwhile. NULL: there is nothing to
   dispatch any more. */
void async_comes_to(party *p, bool (*is)(void *data), void *data);
/* The status of a call, waited for so. */
lk_status async_end_of(party *p, call *c);
void async_ends_once(const call *c);
/* Releases what the call got, if it got something. */
void async_give_back(party *p, call *c);

/* ---- what goes ---- */

void async_free_clients(party *p);
void async_free_handle(party *p);
/* Makes the handle again. */
void async_make_again(party *p);

#endif /* LK_TESTS_SUPPORT_ASYNC_H */
