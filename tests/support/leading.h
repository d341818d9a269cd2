/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LEADING_H
#define LK_TESTS_SUPPORT_LEADING_H

#include <latchkey/leader.h>

#include <stdatomic.h>
#include <stdbool.h>

#include "support/locking.h"

/*
 * For tests of elections: what locking.h has, and handles and waits beside it,
 * on the election n. Whatever cannot be had fails the running test.
 */

enum { LEADERS = 16, LEADING_TELLS = 256 };

/* An async campaign. It lives until the test's clients have ended. */
typedef struct candidate {
    atomic_bool done;
    lk_status status;
    lk_hold *hold;
    uint64_t at_ms; /* when it was done */
} candidate;

typedef struct leading {
    locking *base;
    lk_leader *leaders[LEADERS];
    size_t count;
    candidate candidates[LEADERS];
    size_t candidate_count;
} leading;

/* For cmocka; the server is locking_start_server()'s. */
int leading_setup(void **state);
int leading_teardown(void **state);

#define LEADER_TEST(f)                                                         \
    cmocka_unit_test_setup_teardown(f, leading_setup, leading_teardown)

/* options may be NULL. */
lk_leader *
leading_in(leading *f, lk_client *client, const lk_leader_options *options);
/* The same of a client of its own that is ready. */
lk_leader *leading_new(leading *f, const lk_leader_options *options);
/* One that publishes this value. */
lk_leader *leading_as(leading *f, const char *value);

/* A lead that must be had at once. */
lk_hold *leading_hold(lk_leader *leader);

candidate *candidate_new(leading *f);
void candidate_start(candidate *c, lk_leader *leader, int64_t wait_ms);
/* Waits for its end, 10 s at most (scaled); returns the status. */
lk_status candidate_join(candidate *c);

/* What a watch, or a callback of a hold's loss, has told. Zero it. */
typedef struct tells {
    atomic_uint count;
    struct {
        lk_status status;
        uint64_t term;
        char value[LK_LEADER_VALUE_MAX + 1];
        uint64_t remaining_ms; /* of a loss */
        uint64_t at_ms;
    } told[LEADING_TELLS];
} tells;

/* An lk_leader_cb, and an lk_lost_cb: data is the tells. */
void tells_change(lk_status status, const lk_party *leader, void *data);
void tells_loss(lk_hold *hold, uint64_t remaining_ms, void *data);
/* Waits until it was told so often, 10 s at most (scaled). */
void tells_wait(tells *t, unsigned count);

#endif /* LK_TESTS_SUPPORT_LEADING_H */
