/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_FAMILY_H
#define LK_CLAIMS_FAMILY_H

#include "claims/claim.h"
#include "claims/place.h"
#include "claims/question.h"

/*
 * What the questions of all families are made of; see docs/protocol.md.
 */

/* Longest text of a member: see docs/protocol.md, and words.h for reasons. */
enum { LK__MEMBER_SIZE = 512 };

lk__text lk__text_of(const char *text);

/* The base of one that waits for permits: "s" if they end later for others than
   for us, else "-". */
const char *lk__family_skew(const lk__claim *claim);

/* A waiter, as it stands in the queue; the same each time it is made. base: the
   claim of its own read, of an upgrade; else "-". It takes LK__MEMBER_SIZE of the
   question's room. */
lk__text lk__family_member(lk__question *q, const lk__claim *claim,
                           const char *mode, const char *base);

/* Arguments that most scripts have. */
/* Redisson's channel, and the topic of a kind that has one, as scripts are told
   them; see channel.h. */
lk__text lk__family_channel(const lk__place *place);
lk__text lk__family_news(const lk__place *place);

char lk__family_interop(const lk__place *place);
int64_t lk__family_life(const lk__place *place);
int64_t lk__family_db(const lk__place *place);

/* Begins the client's question with so much room. NULL: no memory. */
lk__question *lk__family_begin(const lk__place *place,
                               const lk__signature *signature, size_t room);

/* Adds one of the place's keys. */
void lk__family_key(lk__question *q, const lk__place *place, size_t key);

/* Adds the place's keys and the arguments, and returns it. */
lk__question *lk__family_fill(lk__question *q, const lk__place *place,
                              const lk__signature *signature, size_t key_count,
                              const void *args);

#endif /* LK_CLAIMS_FAMILY_H */
