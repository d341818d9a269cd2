/* SPDX-License-Identifier: MIT */
#ifndef LK_ENGINE_CLIENT_H
#define LK_ENGINE_CLIENT_H

#include <latchkey/client.h>

#include <pthread.h>
#include <stdatomic.h>

#include "base/alarm.h"
#include "base/guest.h"
#include "base/names.h"
#include "settings/settings.h"
#include "world/world.h"

struct lk__call;
struct lk__node;
struct lk__watch;
struct lk__work;

/*
 * A callback of the user's that is due. Intrusive: whoever posts it owns it
 * and keeps it until run is called, once, without the mutex, on the loop or in
 * lk_client_dispatch().
 */
typedef struct lk__post {
    struct lk__post *next;
    void (*run)(struct lk__post *post);
    bool queued;
    bool inner; /* the library's own: always on the loop, dispatch or not */
} lk__post;

/* Those that are due, in order, and the one that runs. */
typedef struct lk__posts {
    lk__post *first, *last;
    lk__post *running;
    pthread_t runner; /* that runs it */
    unsigned run;     /* how many have been run in a row */
    uint64_t sent_at; /* when what those asked for was sent last */
} lk__posts;

/* What the floor above is told, and asked; inside the monitor. See work.h. */
typedef struct lk__upper {
    void (*settle)(lk_client *client); /* a thread leaves: queue what is due */
    void (*send)(lk_client *client);   /* hand what is queued to the streams */
    /* A caller goes to sleep: it reads its own answer, if it can, until done is
       set or the time has come. Leaves the monitor meanwhile. */
    void (*read)(lk_client *client, lk__parking *parking, const bool *done,
                 uint64_t until);
    void (*cancel)(lk_client *client); /* ends what names a fired token */
    void (*free)(
        lk_client *client); /* what there is of it, which may be part */
    /* The text of a call that ends; words NULL: the status' own. */
    void (*explain)(const lk_client *client, lk_status status,
                    const char *words, char *text, size_t size);
} lk__upper;

/*
 * The client is a monitor. One mutex guards it and everything that hangs on
 * it: nodes, connections, places, claims, waits, holds. Any thread that has
 * entered may move any state machine on; that is why a caller can send its own
 * request and end its own wait without the loop thread.
 */
struct lk_client {
    pthread_mutex_t mutex;
    int cancel_state; /* of the thread that is inside, before it came */
    atomic_uint refs; /* the user's and one for each handle and hold */
    unsigned fork_generation;
    lk__world *world;
    lk__settings settings;
    char id[LK__CLIENT_ID_SIZE + 1];

    enum {
        LK__CLIENT_OPEN,
        LK__CLIENT_CLOSING, /* nothing new; releases are under way */
        LK__CLIENT_CLOSED   /* no connection any more */
    } state;
    lk_status shutdown_status; /* once CLOSED */

    lk__alarms alarms;
    const lk__upper *upper;
    struct lk__node *node;
    struct lk__work *work;

    struct lk__watch *first_watch;

    atomic_bool
        canceled; /* a cancel token was fired since that was looked at */
    lk__guest *first_waker;  /* told when one was */
    lk__guest *first_leaver; /* told when the shutdown begins */

    lk__posts posts; /* the user's */
    lk__posts inner; /* the library's own */
    pthread_cond_t post_done;
    struct lk__call *first_woken; /* that are done, and whose callers sleep */
    struct lk__call **last_woken; /* where the next one is hung */
    unsigned corks;               /* those that still add to what is sent */
    int dispatch_fd;              /* eventfd, or -1 */

    lk_client_stats stats;
};

/* Checks the handle before the mutex is touched: NULL, forked. */
lk_status lk__client_check(const lk_client *client);

/*
 * Enters the monitor for a public call: refuses after fork and after
 * shutdown. The caller leaves only if this was LK_OK.
 */
lk_status lk__client_enter(lk_client *client);

/* The same for a call that sleeps, which a callback must not. Until
   lk__client_leave_blocking() the client's memory stays, whatever is freed
   meanwhile. */
lk_status lk__client_enter_blocking(lk_client *client);
void lk__client_leave_blocking(lk_client *client);

/* Tells whether the caller runs in a callback of this client. */
bool lk__client_is_callback(const lk_client *client);

/* Enters whatever the state is: for events and for ending things. */
void lk__client_lock(lk_client *client);

/* Whether a thread is inside, whichever it is. For assertions: where a call was
   made outside, and nobody else is inside just then, it says so. */
bool lk__client_is_busy(lk_client *client);

/* Sends what was queued, arms the timer and leaves. */
void lk__client_leave(lk_client *client);

/*
 * Between the two nothing is sent, so that the requests of several calls go out
 * in one write. Not inside the monitor; no call in between may wait.
 */
void lk__client_cork(lk_client *client);
void lk__client_uncork(lk_client *client);

/* The loop was woken: ends what was canceled, and runs the callbacks that are due.
   Inside the monitor. */
void lk__client_on_wake(lk_client *client);

uint64_t lk__client_now(const lk_client *client);

/* A number in [0, limit). */
uint64_t lk__client_random(lk_client *client, uint64_t limit);

/* The last to let go ends the world, and frees the client and all of it. One that
   was never started is let go by nobody else. */
lk_client *lk__client_ref(lk_client *client);
void lk__client_unref(lk_client *client);

/* Queues a callback. Inside the monitor. */
void lk__client_post(lk_client *client, lk__post *post);

/*
 * Takes a queued callback back, or waits until it has run, unless it is the
 * caller that runs it. Afterwards it is not queued. Inside the monitor, which
 * it may leave and enter again.
 */
void lk__client_unpost(lk_client *client, lk__post *post);

/* Whether its run is under way. Inside the monitor. */
bool lk__client_runs(const lk_client *client, const lk__post *post);

/* Runs whatever is still due to the user: what the library does itself comes
   first, since it may add to that. Of a client that is opened with dispatch and
   shut down. Not inside the monitor. */
void lk__client_finish_posts(lk_client *client);

/* Hands one line to the user's log. Inside the monitor. Never a secret. */
void lk__client_log(lk_client *client, lk_log_level level, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

#endif /* LK_ENGINE_CLIENT_H */
