/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_EAR_H
#define LK_SERVER_EAR_H

#include "server/conn.h"
#include "server/login.h"

/*
 * Hears one sentinel tell that a master has changed: a connection that is
 * subscribed to +switch-master. What is heard is a hint to ask, and nothing of
 * it is believed: whoever can speak there could say anything, and a sentinel
 * tells of it a second after it names the next one, or before the others do.
 *
 * A sentinel that denies it is asked every second all the same.
 */
typedef struct lk__ear {
    lk__conn conn; /* first */
    lk__login login;
    lk__request subscribe;
    /* A message is about the URL's master. */
    void (*hinted)(struct lk__ear *ear);
} lk__ear;

/* The address stays the caller's, and lives as long. */
void lk__ear_init(lk__ear *ear, struct lk_client *client,
                  const lk__address *address,
                  void (*hinted)(struct lk__ear *ear), void *owner);

/* Whether a message is about the master of that name: it begins with it. */
bool lk__ear_is_hint(const char *text, size_t size, const char *master);

#endif /* LK_SERVER_EAR_H */
