/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_GREET_H
#define LK_SERVER_GREET_H

#include "server/conn.h"

/*
 * What every connection says before it serves:
 *
 *   [AUTH] [SELECT] CLIENT SETNAME, CLIENT ID, INFO server, INFO replication,
 *   PING; in a cluster, before that, SSUBSCRIBE to nothing
 *
 * and then, if its owner wants that, one more command. A name and a number may
 * be refused; anything else that is breaks the connection, and so does an answer
 * of a type that the command does not have, but for the number: then there is
 * none.
 *
 * So does a replica: what it says is old, and it never says so. ROLE would tell
 * the same, but it is a right of its own, and INFO is needed anyway.
 */
typedef struct lk__greeting lk__greeting;

enum { LK__GREETING_STEPS = 9 };

typedef struct lk__greeting_step {
    lk__request request; /* first */
    lk__greeting *greeting;
} lk__greeting_step;

struct lk__greeting {
    lk__conn *conn;
    /* All was answered: says the last command, or that the connection is
       ready. */
    void (*done)(lk__conn *conn);
    /* The answer to the last command; refused LK_OK: no error. */
    void (*last)(lk__conn *conn, lk_status refused, const redisReply *reply);
    char run_id[48]; /* the server's process; "" if it does not say */
    char replid[48]; /* its data, as replication calls them; "" the same */
    bool has_led;    /* these have always been its own: it followed nobody */
    int64_t born_at; /* not later than this that process began, by the local
                         clock, and below 0 if that began later; INT64_MAX: it
                         does not say */
    uint64_t since;  /* when the process before it was last heard; 0: there was
                         none, or it is not known to be another */
    uint64_t heard_at; /* when the last connection that was greeted was heard */
    bool has_shards;   /* it knows sharded channels, where that was asked */
    int64_t id;        /* the server's number of the connection; 0: not known */
    lk__greeting_step steps[LK__GREETING_STEPS];
};

/* Whether two servers' processes are known to be the same, or known not to be.
   Of one that does not say which it is neither is known. */
bool lk__run_ids_same(const char *a, const char *b);
bool lk__run_ids_differ(const char *a, const char *b);

/* Begins, when the stream stands. */
void lk__greet(lk__greeting *greeting);

/* Says the last command, from done on. */
void lk__greet_last(lk__greeting *greeting, size_t count, const lk__arg *args);

/* Breaks the connection over an answer that it cannot do without. */
void lk__greet_refuse(const lk__greeting *greeting, lk_status status,
                      const redisReply *reply);

#endif /* LK_SERVER_GREET_H */
