/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_CONN_H
#define LK_SERVER_CONN_H

#include <latchkey/status.h>

#include <hiredis/hiredis.h>

#include "base/alarm.h"
#include "base/resp.h"
#include "base/script.h"
#include "world/world.h"

struct lk_client;

/*
 * One request under way on a connection. The caller owns it and keeps it
 * until on_reply, which is called exactly once, never from within the call
 * that queued it:
 *
 *   LK_OK         reply is the server's answer, borrowed; may be an error
 *   LK_EINDOUBT   it was sent, at least in part, and the connection broke
 *   LK_EOFFLINE   the connection broke before the first byte was sent
 */
typedef struct lk__request {
    struct lk__request *next;
    void (*on_reply)(struct lk__request *request, lk_status status,
                     const redisReply *reply);
    uint64_t sent_at;      /* taken before the first byte was handed over */
    struct lk__conn *conn; /* over which it was queued last */
    uint64_t begin;        /* its place in the connection's stream of bytes */
    size_t ahead;          /* how many stood before it */
    const lk__script *script; /* that it runs, or NULL */
    bool in_full;             /* its text was sent, not its hash */
    bool busy;                /* queued and not answered */
} lk__request;

typedef enum lk__conn_state {
    LK__CONN_STOPPED, /* not wanted */
    LK__CONN_WAITING, /* lost or refused; tries again at retry_at */
    LK__CONN_OPENING, /* the stream is being opened */
    LK__CONN_GREETING,
    LK__CONN_READY
} lk__conn_state;

typedef struct lk__conn lk__conn;

/* What a connection tells the one it works for. Inside the monitor. */
typedef struct lk__conn_class {
    const char *word; /* for the log */
    /* The stream stands: queue the greeting, then call lk__conn_ready(). */
    void (*on_open)(lk__conn *conn);
    /* It was lost, or could not be had; its requests were failed before. */
    void (*on_down)(lk__conn *conn, lk_status why);
    /* A reply that answers no request, or NULL if there can be none. True:
       it was taken; false: it is the answer to the oldest request. */
    bool (*on_push)(lk__conn *conn, const redisReply *reply);
} lk__conn_class;

/*
 * One connection: a byte stream with requests in flight, first in first out.
 * It comes back by itself, with full jitter, until it is stopped: at once when
 * it has stood for a tenth of a second, or been of use for half as long, else
 * later each time. Becoming ready proves nothing. When a request waits and nothing has come for command_timeout_ms, the connection is
 * broken: behind that request nothing can be answered either, and only a
 * broken connection can be proven dead at the server.
 */
struct lk__conn {
    lk__conn *next; /* in the list of its node */
    const lk__conn_class *class;
    struct lk_client *client;
    void *owner;                /* the node, of a connection of one's */
    const lk__address *address; /* the client's, unless another is set; without
                                   path and host: not known yet */
    lk__conn_state state;
    lk__link *link;
    lk__buffer out;
    bool blocked;    /* the stream takes no bytes now */
    uint64_t queued; /* bytes ever put into out on this stream */
    uint64_t sent;   /* bytes of these handed to the stream */
    size_t before;   /* in out, when the command at hand was begun */
    redisReader *reader;
    lk__request *first, *last;
    size_t pending;
    uint64_t each_ns; /* a request takes the server, on average of late */
    lk__alarm alarm;
    uint64_t limit_at;     /* end of the attempt to connect and greet */
    uint64_t absent_at;    /* nobody was there after that: an attempt that began
                           then was refused; 0: none was */
    uint64_t absent_since; /* the first one that was, with nothing but refusals
                              behind it; 0: the last was not */
    uint64_t open_at;      /* when the stream stood */
    uint64_t heard_at;     /* when bytes last came */
    uint64_t patience;     /* what its requests may take beyond the usual; ns */
    unsigned alone;    /* calls in a row that waited alone; see conn_read.c */
    unsigned failures; /* attempts since it was last of use */
    uint64_t ready_at; /* when it last became ready */
    bool serves;       /* it was of use since */
    lk_status why;     /* why it is down; LK_EOFFLINE if never tried */
    char words[160];   /* the same in words */
    lk__request ping;
};

void lk__conn_init(lk__conn *conn, const lk__conn_class *class,
                   struct lk_client *client, void *owner);
void lk__conn_done(lk__conn *conn);

/* Begins to connect, if it is stopped. */
void lk__conn_start(lk__conn *conn);

/* The address is another now, or known at last: leaves the one before, if need
   be, and tries at once. In between neither address is used. */
void lk__conn_leave(lk__conn *conn, const char *words);
void lk__conn_retry(lk__conn *conn);

/* Ends it; requests under way fail; no on_down. */
void lk__conn_stop(lk__conn *conn);

/* Called by the owner when the greeting is over. */
void lk__conn_ready(lk__conn *conn);

/* It has answered what it is there for. */
void lk__conn_serves(lk__conn *conn);

/* Gives the stream up and tries again later. words go to the log;
   NULL: those of the status. */
void lk__conn_break(lk__conn *conn, lk_status why, const char *words);

/* ---- conn_send.c ---- */

/* One argument of a command: bytes, or a number. */
typedef struct lk__arg {
    const char *bytes; /* NULL: number is the argument */
    size_t size;
    int64_t number;
} lk__arg;

lk__arg lk__arg_text(const char *text);
lk__arg lk__arg_bytes(const char *bytes, size_t size);
lk__arg lk__arg_number(int64_t number);

/*
 * Queues a command for the next flush. LK_EFULL: too many under way;
 * LK_ENOMEM; LK_EOFFLINE: no stream. Then nothing was queued.
 */
lk_status lk__conn_send(lk__conn *conn, lk__request *request, size_t count,
                        const lk__arg *args);

/*
 * The same piece by piece: if the check is LK_OK, begin with the count, all of
 * the arguments, end. Only the end tells whether there was memory for it.
 */
lk_status lk__conn_check(const lk__conn *conn);
void lk__conn_begin(lk__conn *conn, size_t count);
void lk__conn_args(lk__conn *conn, size_t count, const lk__arg *args);
lk_status lk__conn_end(lk__conn *conn, lk__request *request);

/* Hands queued bytes to the stream. */
void lk__conn_flush(lk__conn *conn);

/* Until when something has to be heard, or its oldest request, which there is, comes
   too late. */
uint64_t lk__conn_limit(const lk__conn *conn);

/* ---- conn_read.c ---- */

/* Bytes came on a link, which may be the connection's no more. */
void lk__conn_take(lk__conn *conn, const lk__link *link, const char *bytes,
                   size_t size);

/*
 * A caller is about to sleep in this parking: if it waits alone, and the stream
 * is lent, it reads until done is set or the time has come or there is nothing
 * to read. Leaves the monitor meanwhile.
 */
void lk__conn_read(lk__conn *conn, lk__parking *parking, const bool *done,
                   uint64_t until);

/* The loop has read what there was: lends the stream if callers wait alone. */
void lk__conn_lend(lk__conn *conn);

/* The world's events. */
extern const lk__events lk__conn_events;

#endif /* LK_SERVER_CONN_H */
