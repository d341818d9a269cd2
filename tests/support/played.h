/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAYED_H
#define LK_TESTS_SUPPORT_PLAYED_H

#include <latchkey/latchkey.h>

#include "support/fake_world.h"

/*
 * A client in a fake world and the server it talks to, which the test plays:
 * it greets, takes subscriptions, and answers the scripts of the locks, of an
 * observer, of a redlock, of a flight, of a latch and of a siglock for one name as a
 * server would, until it is told to answer something else. Each way takes a virtual millisecond, until
 * played_ways() says otherwise.
 */

typedef enum played_script {
    PLAYED_ACQUIRE, /* a lock's or a fair lock's */
    PLAYED_RECHECK, /* a touch of one claim */
    PLAYED_TOUCH,   /* of several */
    PLAYED_CONFIRM,
    PLAYED_IMPORT,
    PLAYED_RENEW,
    PLAYED_RELEASE,
    PLAYED_LEAVE,
    PLAYED_PASS, /* a touch of none */
    PLAYED_FORCE,
    PLAYED_REVOKE,
    PLAYED_FORGET,
    PLAYED_INFO,
    PLAYED_OBSERVE,
    PLAYED_TOKEN_ACQUIRE, /* a redlock's */
    PLAYED_TOKEN_RENEW,
    PLAYED_TOKEN_RELEASE,
    PLAYED_JOIN, /* a flight's */
    PLAYED_LAND,
    PLAYED_LATCH_WAIT, /* a latch's */
    PLAYED_LATCH_LOOK,
    PLAYED_LATCH_LEAVE,
    PLAYED_SIG_ACQUIRE, /* a siglock's, which others hold */
    PLAYED_SIG_CLOSE,
    PLAYED_SCRIPTS
} played_script;

enum { PLAYED_WAITERS = 16 };

/* Answers to a lock's questions. */
#define PLAYED_GRANTED(fence, left)                                            \
    "*4\r\n:1\r\n:" fence "\r\n:" left "\r\n:63\r\n"
#define PLAYED_QUEUED(left, ticket, next)                                      \
    "*4\r\n:2\r\n:" left "\r\n:" ticket "\r\n:" next "\r\n"
#define PLAYED_LOOKED(left, next, more, tickets)                               \
    "*7\r\n:2\r\n:" left "\r\n:" next "\r\n:" more "\r\n:0\r\n" tickets "*0\r" \
    "\n"
/* Those to a latch's waiters: it is armed. */
#define PLAYED_ARMED(gen, nonce)                                               \
    "*6\r\n:2\r\n:-1\r\n:" gen "\r\n$16\r\n" nonce "\r\n:0\r\n:0\r\n"
#define PLAYED_LOST(code) "*2\r\n:2\r\n:" code "\r\n"

/* A claim that stands in the queue. */
typedef struct played_waiter {
    char owner[80];
    char nonce[20];
    uint64_t ticket;
} played_waiter;

/* For an answer: the server says nothing, then or later on that stream. */
extern const char played_silence[];
/* The stream ends in its place. */
extern const char played_end[];

typedef struct played {
    fake_world *world;
    lk_client *client;
    lk_lock *lock; /* on "n" */

    /* What is answered instead of the model's answer; NULL: that. */
    const char *answers[PLAYED_SCRIPTS];
    const char *exists_answer, *ping_answer;
    const char *scan_answer, *range_answer; /* of SCAN and XREVRANGE */
    const char *kill_answer, *subscribe_answer;
    const char *id_answer, *name_answer; /* of CLIENT ID and SETNAME */
    const char *tracking_answer;         /* of CLIENT TRACKING and CACHING */
    const char *delifeq_answer;          /* NULL: it knows no DELIFEQ */
    const char *info_answer;             /* of INFO, whatever it is about */
    bool tells_time;    /* TIME is answered by the virtual clock, */
    int64_t set_us;     /* and by how far it was set */
    const char *named;  /* host of the sentinels' master; NULL: "server" */
    int connect_answer; /* of each stream to come; see fake_server */
    bool waits;         /* lock_confirm says that others wait */
    bool is_mute;       /* no command is answered any more */

    /* The model. */
    char run_id[48]; /* another one: another server process */
    bool is_held;
    uint64_t fence;  /* of the next grant */
    uint64_t ticket; /* the last one */
    uint64_t term;   /* in which somebody leads */
    played_waiter waiters[PLAYED_WAITERS];
    size_t waiter_count;

    /* What arrived. */
    unsigned counts[PLAYED_SCRIPTS];
    uint64_t times[PLAYED_SCRIPTS]; /* when the last one did */
    unsigned links[PLAYED_SCRIPTS]; /* on which stream; see fake_link_number */
    char owner[80];                 /* of the last acquire */
    char nonce[20];
    char inbox[80];
    uint64_t tombstone_ms; /* of the last leave */
    unsigned connects, pings, kills;
    unsigned delifeqs, delifeq_link; /* how many, and on which stream */
    unsigned trackings, cachings;    /* CLIENT TRACKING and CLIENT CACHING */
    uint64_t tracking_id;            /* whom the last of these would tell */
    uint64_t killed_id;              /* of the last CLIENT KILL */
    uint64_t connected_at;           /* the last attempt */
    fake_link *inbox_link;
    fake_link *pop_link; /* where the last BLPOP came; it is not answered */
    fake_link *silent;   /* the stream on which it says nothing more */
    struct played_node
        *nodes; /* see played_cluster.h; NULL: it is no cluster */
    size_t node_count;
} played;

/* Opens the client and waits until it is ready. options may be NULL. */
played *played_new(uint64_t seed, const lk_client_options *options);

/* The same for a client of three sentinels that have named the server for long:
   they and their streams stay as they are, whatever the test does to the rest. */
played *played_new_group(uint64_t seed, const lk_client_options *options);

/* Frees lock, client and world. NULL is allowed. */
void played_free(played *p);

/* Lets virtual milliseconds pass. */
void played_run_ms(played *p, uint64_t ms);

/* Virtual milliseconds since the start of the world, rounded down. */
uint64_t played_now_ms(const played *p);

/* How long what is sent from now on is on its way, there and back. */
void played_ways(played *p, uint64_t request_ms, uint64_t reply_ms);

/* Publishes words to the client's inbox, or on another channel. */
void played_publish(played *p, const char *text);
void played_publish_on(played *p, const char *channel, const char *text);

/* Tells the inbox that a tracked key has changed; NULL: all keys have gone. */
void played_invalidate(played *p, const char *key);

/* Answers the BLPOP under way: the siglock "n" has become free. */
void played_signal(played *p);

/* As played_publish() for a grant to the last acquire's claim. The model holds the name
   then. */
void played_grant(played *p, uint64_t ticket, uint64_t fence,
                  uint64_t lease_ms);

/* Breaks every stream that the client has to the server. */
void played_break(played *p);

lk_client_stats played_stats(played *p);

/* Renewals of holds, whole or by their keys alone: how many, when the last one
   came, and what is answered from now on; NULL: what the model answers. */
unsigned played_renewals(const played *p);
uint64_t played_renewed_at(const played *p);
unsigned played_renewed_over(const played *p); /* the number of the link */
void played_renew_so(played *p, const char *answer);

#endif /* LK_TESTS_SUPPORT_PLAYED_H */
