/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_RECORD_H
#define LK_CLAIMS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lk__node;
struct lk_client;

/*
 * The record of a client: one small key, `latchkey:client:<tenant>:<id>`, that tells
 * operators which process stands behind a claim. It is written when the
 * connection is ready and every 20 s, expires after 60 s, and goes with an
 * orderly shutdown. In a cluster it is at the master of its own slot, which is any. Its value is five lines: host, pid, program, user, name;
 * then "p <boot>:<namespace>", of which the pid is, where that is known;
 * and then one for each owner that holds something and waits for something,
 * the first LK__RECORD_WAITS of them: "w <claim number>,... <name>", what it
 * holds and which name it waits for. So operators see who waits for whom, and
 * in a circle. While there may be such an owner it is looked at every second,
 * and written if it has changed.
 */
enum { LK__RECORD_SIZE = 384, LK__RECORD_WAITS = 16, LK__RECORD_KEY_SIZE = 96 };

void lk__record_init(struct lk__node *node);
void lk__record_write(struct lk__node *node);

/* A wait has begun: if its owner may hold something, operators are to see it
   soon. */
void lk__record_on_wait(struct lk_client *client);
void lk__record_remove(struct lk__node *node);

/* The name that the last wait to begin waits for, if it can be told; NULL: no
   wait is there, or none that can be told. */
const char *lk__record_first_wait(const struct lk_client *client);

/* The fields of a record, cut out of its text in place; "" if missing. */
typedef struct lk__record {
    const char *host, *pid, *command, *user, *name;
    const char *among; /* the boot and the namespace of the pid */
    char *waits;       /* the lines behind, not cut yet */
} lk__record;

void lk__record_parse(lk__record *record, char *text);

/* Whether the process is one of this client's pid namespace and boot. */
bool lk__record_is_near(const lk__record *record,
                        const struct lk_client *client);

/* The name that the owner of this claim waits for, cut out in place; "" if none.
   Once for each record. */
const char *lk__record_waits_for(lk__record *record, uint64_t claim_number);

/* "latchkey:client:<tenant>:<id>", of a client of the same tenant. */
void lk__record_key(char key[LK__RECORD_KEY_SIZE],
                    const struct lk_client *client, const char *id);

#endif /* LK_CLAIMS_RECORD_H */
