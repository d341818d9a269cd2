/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_STAND_H
#define LK_TESTS_SUPPORT_STAND_H

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/kind.h"
#include "support/proxy.h"
#include "support/server.h"

/*
 * What a test needs that is run over kind.h: the servers of the kind, a proxy
 * before each of them, and parties that want the name STAND_NAME. A party has
 * clients of its own, straight to the servers or through the proxies, and one
 * acquire at a time.
 *
 * The servers are the program's: they are started when a test first needs them,
 * and each test begins with no data. Whatever cannot be had fails the running
 * test; its teardown ends what is left.
 */

#define STAND_NAME "n"

enum {
    STAND_PARTIES = 12,
    STAND_MS = 20000, /* the patience of all waits here; scaled */
    /* How long the library may take for something that no message tells: */
    STAND_LOOK_MS = 1000,  /* the next look of somebody who waits */
    STAND_SEEN_MS = 3000,  /* a waiter that is not heard of counts as dead */
    STAND_CLAIM_MS = 3000, /* a grant that nobody takes */
    STAND_SLACK_MS = 500   /* the machine; scaled */
};

typedef struct stand stand;

typedef struct party {
    stand *stand;
    kind_site site;
    void *handle;
    lk_hold *hold;
    bool dispatches;  /* its callbacks run where the test waits for them */
    call call;        /* the last acquire that was begun */
    uint64_t replies; /* read before it was begun */
    uint64_t began_at;
} party;

struct stand {
    const kind *kind;
    const struct stand_test *test;
    server *servers[KIND_SERVERS];
    proxy *proxies[KIND_SERVERS]; /* NULL until somebody is far */
    party *parties[STAND_PARTIES];
    unsigned party_count;
};

/* For cmocka: the initial state of each test is its row of kinds. The last one
   is the teardown of the group. */
int stand_setup(void **state);
int stand_teardown(void **state);
int stand_stop_servers(void **state);

/*
 * Runs each of these tests over each row that it is for; its name becomes
 * <word of the row>.<name>. Both arrays stay the caller's.
 */
typedef struct stand_test {
    const char *name;
    void (*run)(stand *s);
    bool (*is_for)(const kind *k); /* NULL: all that are acquired */
} stand_test;

int stand_run(const char *group, const stand_test *tests, size_t count);

#define STAND_TEST(function, is_for)                                           \
    {                                                                          \
#function, function, is_for                                            \
    }

bool stand_is_any(const kind *k);    /* those that nobody acquires, too */
bool stand_is_held(const kind *k);   /* an acquire gives a hold */
bool stand_is_queued(const kind *k); /* waiters stand in a queue */
/* There is room beside one that is in, which shut takes all of. */
bool stand_is_shared(const kind *k);

/* ---- parties --------------------------------------------------------------------- */

/* A party that is ready, and has used the name once, so that its connections
   stand; options may be NULL. The second one's lead through the proxies. */
party *party_near(stand *s, const lk_client_options *options);
party *party_far(stand *s, const lk_client_options *options);
/* Before the end of the test: gives back what it has, and frees it. */
void party_end(party *p);

/* Within STAND_MS and LK_OK, or the test fails. */
void party_acquire(party *p);
void party_shut(party *p);
void party_release(party *p);
void party_open(party *p);

/* Begins to acquire, for an owner of its own; options may be NULL. */
void party_begin(party *p, int64_t wait_ms, const lk_acquire_options *options);
/* Waits until the server has been asked for what was begun; the second one: and it
   has not ended. */
void party_asked(party *p);
void party_waits(party *p);
/* The same in one step, without a limit. */
void party_queue(party *p);
bool party_has_ended(party *p);
/* Lets the callbacks run that are due, if they run where the test is. */
void party_dispatch(party *p);
/* Its end, waited for; the hold is the party's. */
lk_status party_ends(party *p);
/* It ends with LK_OK, within so long from the begin; then it is released. */
void party_gets_in(party *p, uint64_t since, uint64_t most_ms);

/* It has a hold, or nothing is lost where there is none. */
void party_assert_in(party *p);
/* The hold is lost, and is told to be; then it is released. */
void party_loses(party *p);

lk_client_stats party_stats(const party *p);
/* Waits until its first client has had so many connections, and all is answered. */
void party_connects(party *p, uint64_t connects);

/* ---- the network and the servers ------------------------------------------------------ */

/* All of them. */
void stand_refuse(stand *s, bool is_on);
void stand_reset(stand *s);
void stand_heal(stand *s);
void stand_command(stand *s, const char *command);
void stand_flush(stand *s);
void stand_restart(stand *s);
void stand_freeze(stand *s);
void stand_thaw(stand *s);

/* So many waits stand in the queues of the first server; not those that are parked,
   as whose process died. */
uint64_t stand_waiting(stand *s);

/* The clock of the first server, in ms; and how many clients it was told by, later than
   that, that they wait there. */
uint64_t stand_clock_ms(stand *s);
uint64_t stand_heard(stand *s, uint64_t since_ms);

/* Sleeps, for a test whose subject is a span of time. */
void stand_pass_ms(uint64_t ms);

/* The name can be had whole by somebody else, and nothing is left behind. */
void stand_is_clean(stand *s);

#endif /* LK_TESTS_SUPPORT_STAND_H */
