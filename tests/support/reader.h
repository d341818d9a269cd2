/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_READER_H
#define LK_TESTS_SUPPORT_READER_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "support/pair.h"
#include "world/world_uv.h"

/*
 * One who borrows the stream of a pair, as a caller of the core does, and reads
 * it in its own thread or in another.
 */
typedef struct reader {
    pair *p;
    lk__link *link;
    lk__parking parking;
    uint64_t until;
    bool borrowed;
    ssize_t size; /* that it read; see link_read */
    char bytes[64];
    pthread_t thread;
    bool over; /* it has returned the stream; guarded by the witness's mutex */
} reader;

const lk__world_class *reader_class(const pair *p);

/* The mutex of the pair's witness. */
void reader_enter(pair *p);
void reader_leave(pair *p);

/* Of the pair's link, for ever. */
reader reader_of(pair *p);

/* ---- the steps ---- */

bool reader_borrow(reader *r);
bool reader_sleep(reader *r); /* link_await */
void reader_take(reader *r);
void reader_await(reader *r); /* both */
void reader_return(reader *r);

/* Tells whether one that sleeps was woken for it. */
bool reader_unpark(reader *r);

/* ---- more at a time ---- */

/* Whether the loop lends the stream whenever it has read. */
void pair_lends(pair *p, bool is_on);

/* Has the loop lend the stream at a byte that comes. */
void reader_lend(pair *p);

/* The loop takes back what nobody borrows, so a slow test lends it again. */
void reader_borrows(reader *r);

/* One that has borrowed the stream reads it, once, in another thread. */
void reader_start(reader *r);
void reader_join(reader *r);

/* Borrows and reads what the peer writes. False: the loop was faster. */
bool reader_reads(reader *r, const char *text);

/* ---- what can be waited for; data is the reader ---- */

bool reader_sleeps(void *data);
bool reader_lost(void *data);          /* the loop has the stream */
bool reader_is_waited_for(void *data); /* to be freed: it is closed */

#endif /* LK_TESTS_SUPPORT_READER_H */
