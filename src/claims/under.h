/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_UNDER_H
#define LK_CLAIMS_UNDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alarm.h"
#include "base/names.h"
#include "claims/record.h"
#include "server/conn.h"

struct lk__node;

/*
 * What a client waits for on behalf of others: its program runs under their
 * holds, so that these end no sooner than its wait. While it waits for a name
 * it writes that name for each of them, `latchkey:client:<tenant>:<id>:w`, every
 * second. The key lives for LK__UNDER_LIFE_MS, and goes when the wait ends. In a
 * cluster the client's first node does so, and each key is at its own master.
 */
enum {
    LK__UNDER_MOST = 8, /* of those that were named, the last ones */
    LK__UNDER_LIFE_MS = 3000
};

typedef struct lk__under {
    struct lk__node *node;
    char ids[LK__UNDER_MOST][LK__CLIENT_ID_SIZE + 1];
    lk__request requests[LK__UNDER_MOST];
    unsigned count;
    bool is_told; /* something was written that is not taken back */
    lk__alarm alarm;
} lk__under;

/* Takes the ids out of text, which may be NULL. */
void lk__under_init(lk__under *under, struct lk__node *node, const char *text);

/* A wait has begun: it is told of soon. */
void lk__under_on_wait(lk__under *under);

/* Takes back what was told, and tells nothing more. */
void lk__under_remove(lk__under *under);

void lk__under_stop(lk__under *under);

/* "latchkey:client:<tenant>:<id>:w" of an owner, or of its client. */
void lk__under_key(char key[LK__RECORD_KEY_SIZE],
                   const struct lk_client *client, const char *owner);

#endif /* LK_CLAIMS_UNDER_H */
