/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_QUESTION_H
#define LK_CLAIMS_QUESTION_H

#include <latchkey/client.h>

#include "claims/wait.h"
#include "server/conn.h"
#include "server/shape.h"

/* At most: what a batch of renewals, or of waits, needs. */
enum {
    LK__QUESTION_KEYS = 160,
    LK__QUESTION_ARGS = 136,
    LK__QUESTION_IDS = LK__QUESTION_ARGS
};

/*
 * A call of a script, whole: its keys and its arguments. A client has one, which
 * is written and sent, or copied, within one visit of its monitor. It refers to
 * texts that last as long as that, or has them in its own room.
 */
typedef struct lk__question {
    const lk__script *script;
    size_t key_count, arg_count;
    lk__arg keys[LK__QUESTION_KEYS];
    lk__arg args[LK__QUESTION_ARGS];
    char *texts; /* the room, of so many bytes; so many are taken */
    size_t room, taken;
    char *key_texts; /* room for all keys, of so many bytes each */
    size_t key_room;
    char ids[LK__QUESTION_IDS][LK__CLAIM_ID_SIZE]; /* of claims, in turn */
    size_t next_id;
} lk__question;

void lk__question_done(lk__question *question);

/*
 * The client's one, begun again with room for texts of so many bytes. Inside the
 * monitor, until it is sent or copied: a second thread would write into it. NULL:
 * no memory.
 */
lk__question *
lk__question_begin(lk_client *client, const lk__script *script, size_t room);

/* Makes room for keys of so many bytes each, with their NULs: each name that the
   client uses does so, and then none can lack it. False: no memory. */
bool lk__question_reserve(lk__question *question, size_t key_size);

/* Adds the key of a name by a form; see names.h. Room for it was made. */
void lk__question_key_of(lk__question *question, const char *form,
                         const char *name);

/* Adds a key; there has to be place for it. */
void lk__question_key(lk__question *question, const char *key);

/* So many bytes of the room that lk__question_begin() made. */
char *lk__question_text(lk__question *question, size_t size);

/* Room for the id of a claim, which is another's after LK__QUESTION_IDS more. */
char *lk__question_id(lk__question *question);

/* Of one whose last arguments are one for each key: leaves one of its keys, from 0. */
void lk__question_pick(lk__question *question, size_t key);

/* Adds the arguments of a signature that has some. */
void lk__question_args(lk__question *question, const lk__signature *signature,
                       const void *args);

#endif /* LK_CLAIMS_QUESTION_H */
