/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_PROBE_H
#define LK_INSPECT_PROBE_H

#include "engine/call.h"
#include "server/conn.h"

/*
 * A call that is made of any number of plain commands, several of them under
 * way at once. Nothing that it sends changes the server, so nothing is ever in
 * doubt: when the connection breaks it ends with LK_EOFFLINE, and whoever wants
 * to know asks again.
 *
 * It begins when the server can be asked, and ends when nothing is under way
 * any more, or when its time is over. It is made on the heap, as the first
 * member of a larger struct, and lives until the last request has come back.
 */
typedef struct lk__probe lk__probe;

/* One command under way; first member of a larger struct if need be. */
typedef struct lk__probing {
    lk__request request; /* first */
    lk__probe *probe;
    /* The answer, which may be an error of the server's. It may send more,
       this one again among it. */
    void (*take)(struct lk__probing *probing, const redisReply *reply);
} lk__probing;

struct lk__probe {
    lk__call call; /* first */
    lk__alarm alarm;
    uint64_t until; /* LK__NEVER: no limit */
    unsigned busy;  /* requests under way */
    bool released;  /* nobody waits */
    /* Sends the first commands; inside the monitor, the server is there. */
    void (*begin)(lk__probe *probe);
    /* Of an async one: hands the result over; outside the monitor. */
    void (*deliver)(lk__probe *probe);
    /* Lets go of what the larger struct has. */
    void (*cleanup)(lk__probe *probe);
};

/*
 * Runs it: waits until the server can be asked, begins, and sleeps until it is
 * over. The caller then reads the result and lets go of it.
 */
lk_status lk__probe_run(lk__probe *probe, lk_client *client, int64_t wait_ms);

/* The same without waiting. Unless LK_OK, it was let go of. */
lk_status
lk__probe_run_async(lk__probe *probe, lk_client *client, int64_t wait_ms);

/* Lets go of it. Outside the monitor. */
void lk__probe_release(lk__probe *probe);

/* Sends a command. What cannot be sent ends the probe. Inside the monitor. */
void lk__probe_send(lk__probe *probe, lk__probing *probing, size_t count,
                    const lk__arg *args);

/* Hands what was queued to the server now, and not when all answers that came
   are read: so both have something to do. */
void lk__probe_flush(lk__probe *probe);

/* Ends it early. What is under way then is not looked at. */
void lk__probe_end(lk__probe *probe, lk_status status, const char *words);

#endif /* LK_INSPECT_PROBE_H */
