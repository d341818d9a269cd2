/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_FAKE_INSIDE_H
#define LK_TESTS_SUPPORT_FAKE_INSIDE_H

#include <hiredis/hiredis.h>

#include "support/fake_world.h"

/*
 * The inside of the fake world: fake_world.c has time and what is to come,
 * fake_link.c the streams.
 */

typedef enum fake_kind {
    FAKE_CALL,     /* of the test */
    FAKE_WAKE,     /* these go to the core */
    FAKE_DATA,     /* bytes */
    FAKE_END,      /* error */
    FAKE_WRITABLE, /* the stream has room again */
    FAKE_OPEN,     /* these go to the server; an answer to the core */
    FAKE_REQUEST,  /* bytes */
    FAKE_CLOSE
} fake_kind;

/* One thing to come. */
typedef struct fake_event {
    struct fake_event *next;
    uint64_t at, order; /* order: among those of one time */
    fake_kind kind;
    fake_link *link;
    int error;
    void (*call)(void *data);
    void *data;
    size_t size;
    char bytes[];
} fake_event;

struct fake_world {
    lk__world base;
    const lk__events *events; /* NULL: not started, or stopped */
    void *user;
    const fake_server *server;
    void *data;
    fake_settings settings;

    uint64_t now;
    uint64_t order; /* of the last thing caused */
    uint64_t still; /* events since time last passed */
    fake_event *first;
    uint64_t timer_at, timer_order;
    bool woken;
    bool in_event;             /* a handler of the core runs */
    void (*ended)(void *data); /* of stop_later(); else NULL */
    void *ended_data;

    uint64_t core_random, own_random;
    uint64_t trace;
    FILE *log;

    fake_link *links, **last_link;
    unsigned link_count;
};

struct lk__link {
    fake_world *world;
    fake_link *next;
    unsigned number;
    lk__address address; /* strings owned */
    void *tag;

    enum {
        FAKE_LINK_OPENING,
        FAKE_LINK_OPEN,
        FAKE_LINK_DEAD /* never to send or receive again */
    } state;
    bool closed;      /* by the core */
    bool is_accepted; /* the server has it */
    bool is_deaf;     /* the server hears nothing more from it */
    bool blocked;     /* a send was short */
    size_t under_way;
    uint64_t request_at, reply_at; /* when the last one arrives */
    redisReader *reader;           /* the server's */
};

/* Ends the program. */
_Noreturn void fake_fail(const fake_world *world, const char *words);

/* Memory or the end. Zeroed. */
void *fake_alloc(size_t size);

/* Adds a thing to come, not before at; the caller may fill in the rest. */
fake_event *fake_event_add(fake_world *world, fake_kind kind, uint64_t at,
                           fake_link *link, const char *bytes, size_t size);

/* Puts it where it belongs, by at and order. */
void fake_event_insert(fake_world *world, fake_event *event);

/* Up to settings.jitter_ns. */
uint64_t fake_jitter(fake_world *world);

/* Does what the event of a link says. */
void fake_link_event(fake_world *world, const fake_event *event);

void fake_links_stop(fake_world *world);
void fake_links_free(fake_world *world);

/* Of the world's class. */
lk__link *
fake_link_open(lk__world *base, const lk__address *address, void *tag);
ssize_t fake_link_send(lk__link *link, const void *bytes, size_t size);
void fake_link_close(lk__link *link);

#endif /* LK_TESTS_SUPPORT_FAKE_INSIDE_H */
