/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_FAMILY_H
#define LK_CLAIMS_FAMILY_H

#include "claims/claim.h"
#include "claims/place.h"
#include "claims/protocol.h"
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

/* ---- family_read.c ---- */

/* Answers that several families give alike, those of the shared table; see
   protocol.h for what each reads. A look is a touch by one alone. */
lk_status lk__family_read_look(const redisReply *reply, lk__seek_answer *ret);
lk_status lk__family_read_touch(const redisReply *reply, size_t count,
                                lk__touch_answer *ret);
uint64_t lk__family_read_ticket(const redisReply *reply, size_t i);
bool lk__family_read_hand_on(const redisReply *reply);
lk_status lk__family_read_renew(const redisReply *reply, lk__lost_answer *ret);
lk_status lk__family_read_close(const redisReply *reply, lk__close_answer *ret);
lk_status
lk__family_read_revoke(const redisReply *reply, lk__revoke_answer *ret);
lk_status
lk__family_read_forget(const redisReply *reply, lk__forget_answer *ret);
lk_status lk__family_take_info(lk__list holders, lk__list waiters,
                               int64_t number, lk__info_answer *ret);
lk_status lk__family_read_info(const redisReply *reply, lk__info_answer *ret);

#endif /* LK_CLAIMS_FAMILY_H */
