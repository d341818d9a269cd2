/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TWISTED_SCENES_H
#define LK_TESTS_SUPPORT_TWISTED_SCENES_H

#include "support/thing.h"
#include "support/twisted.h"

/*
 * What programs do with every primitive, so that every script of the product is
 * run, and how each step has to end whatever the server answers: with a status
 * that has words, within its time, with a hold only where the server has
 * granted one, and for no longer than was asked for.
 */

typedef struct twisted_scene {
    const char *word;
    void (*play)(twisted *t, thing_kind kind);
} twisted_scene;

/* With each kind of thing; and of the primitives that are of one kind. */
extern const twisted_scene twisted_things[], twisted_others[];
extern const unsigned twisted_thing_count, twisted_other_count;

/* ---- what must hold; what does not is told by t->wrong -------------------------- */

/* How much longer than its wait a call may take. */
enum { TWISTED_LATE_MS = 30000 };

/* True: LK_OK. */
bool twisted_good(twisted *t, const char *what, lk_status status);

/* The same of a call that began then. */
void twisted_in_time(twisted *t, const char *what, uint64_t began,
                     uint64_t wait_ms);

/* The same of an acquire; true: there is a hold. It is on "n", for most_ms at
   most. kind THING_KINDS: of something else. */
bool twisted_had(twisted *t, const char *what, thing_kind kind,
                 lk_status status, lk_hold *const *hold, uint64_t most_ms);

/* Releases it; NULL is allowed. */
void twisted_give(twisted *t, lk_hold *hold);

/* Of a call that does not wait: counts it, and its end. */
void twisted_begun(twisted *t, lk_status status);
void twisted_on_done(lk_status status, void *data);

/* After twisted_end(): "n" can be had again. */
void twisted_see_free(twisted *t, thing_kind kind);

#endif /* LK_TESTS_SUPPORT_TWISTED_SCENES_H */
