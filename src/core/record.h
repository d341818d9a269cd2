/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_RECORD_H
#define LK_CORE_RECORD_H

#include <stddef.h>

struct lk__node;

/*
 * The record of a client: one small key, `latchkey:client:<uuid>`, that tells
 * operators which process stands behind a claim. It is written when the
 * connection is ready and every 20 s, expires after 60 s, and goes with an
 * orderly shutdown. Its value is five lines: host, pid, program, user, name.
 */
void lk__record_init(struct lk__node *node);
void lk__record_write(struct lk__node *node);
void lk__record_remove(struct lk__node *node);

/* The fields of a record, cut out of its text in place; "" if missing. */
typedef struct lk__record {
    const char *host, *pid, *command, *user, *name;
} lk__record;

void lk__record_parse(lk__record *record, char *text);

/* "latchkey:client:<uuid>" */
void lk__record_key(char *key, size_t size, const char *uuid);

#endif /* LK_CORE_RECORD_H */
