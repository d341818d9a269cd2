/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAYED_H
#define LK_TESTS_SUPPORT_PLAYED_H

#include <latchkey/latchkey.h>

#include "support/fake_world.h"

/*
 * A client in a fake world and the server it talks to, which the test plays:
 * it greets, takes subscriptions, and answers the lock's scripts for one name
 * as a server would, until it is told to answer something else. Each way takes
 * a virtual millisecond.
 */

typedef enum played_script {
    PLAYED_ACQUIRE,
    PLAYED_RECHECK,
    PLAYED_CONFIRM,
    PLAYED_RENEW,
    PLAYED_RELEASE,
    PLAYED_LEAVE,
    PLAYED_PASS,
    PLAYED_FORCE,
    PLAYED_INFO,
    PLAYED_SCRIPTS
} played_script;

/* For an answer: the server says nothing, then or later on that stream. */
extern const char played_silence[];

typedef struct played {
    fake_world *world;
    lk_client *client;
    lk_lock *lock; /* on "n" */

    /* What is answered instead of the model's answer; NULL: that. */
    const char *answers[PLAYED_SCRIPTS];
    const char *exists_answer;
    int connect_answer; /* of each stream to come; see fake_server */
    bool waits;         /* lock_confirm says that others wait */
    bool is_mute;       /* no command is answered any more */

    /* The model. */
    bool is_held;
    uint64_t fence;  /* of the next grant */
    uint64_t ticket; /* the last one */

    /* What arrived. */
    unsigned counts[PLAYED_SCRIPTS];
    uint64_t times[PLAYED_SCRIPTS]; /* when the last one did */
    char owner[80];                 /* of the last acquire */
    char inbox[80];
    unsigned connects, pings;
    uint64_t connected_at; /* the last attempt */
    fake_link *inbox_link;
    fake_link *silent; /* the stream on which it says nothing more */
} played;

/* Opens the client and waits until it is ready. options may be NULL. */
played *played_new(uint64_t seed, const lk_client_options *options);

/* Frees lock, client and world. NULL is allowed. */
void played_free(played *p);

/* Lets virtual milliseconds pass. */
void played_run_ms(played *p, uint64_t ms);

/* Virtual milliseconds since the start of the world, rounded down. */
uint64_t played_now_ms(const played *p);

/* Publishes a grant to the client's inbox, for the last acquire's claim. The
   model holds the name then. */
void played_grant(played *p, uint64_t ticket, uint64_t fence,
                  uint64_t lease_ms);

/* Breaks every stream that the client has. */
void played_break(played *p);

lk_client_stats played_stats(played *p);

#endif /* LK_TESTS_SUPPORT_PLAYED_H */
