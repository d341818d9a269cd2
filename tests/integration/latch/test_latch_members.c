/* SPDX-License-Identifier: MIT */

/* The latch as a barrier: members arrive, leave, come late and come again. */

#include <pthread.h>
#include <stdio.h>

#include "support/check.h"
#include "support/latching.h"

enum { SHORT_MS = 60 };

static void arrives(lk_latch *latch, uint64_t expected, const char *member)
{
    assert_status(lk_latch_arrive(latch, expected, member), LK_OK);
}

static bool leaves(lk_latch *latch, const char *member)
{
    bool open;

    assert_status(lk_latch_leave(latch, member, &open), LK_OK);
    return open;
}

/* ---- arriving ---- */

LOCKS_TEST(the_first_member_arms_it_and_the_last_one_opens_it)
{
    lk_latch *one = locking_new(f, lk_latch);
    lk_latch *two = locking_new(f, lk_latch);
    taker *w;

    arrives(one, 2, "a");
    assert_int_equal(latching_count(one), 1);
    w = locking_take(f, one, LK_FOREVER, NULL);
    assert_false(taker_ends(w, SHORT_MS));
    arrives(two, 2, "b");
    assert_status(taker_join(w), LK_OK);
    assert_status(lk_latch_wait(two, 0, NULL), LK_OK);
}

LOCKS_TEST(a_member_alone_passes)
{
    lk_latch *latch = locking_new(f, lk_latch);

    arrives(latch, 1, "a");
    assert_status(lk_latch_wait(latch, 0, NULL), LK_OK);
}

/* A process that was restarted says it again, by another client. */
LOCKS_TEST(a_restarted_member_counts_once)
{
    arrives(locking_new(f, lk_latch), 3, "a");
    arrives(locking_new(f, lk_latch), 3, "a");
    assert_int_equal(latching_count(locking_new(f, lk_latch)), 2);
}

LOCKS_TEST(who_comes_late_passes_at_once)
{
    lk_latch *latch = locking_new(f, lk_latch);

    arrives(latch, 2, "a");
    arrives(latch, 2, "b");
    arrives(locking_new(f, lk_latch), 2, "b");
    arrives(locking_new(f, lk_latch), 2, "c");
    assert_status(lk_latch_wait(locking_new(f, lk_latch), 0, NULL), LK_OK);
    assert_int_equal(latching_count(latch), 0);
}

LOCKS_TEST(members_count_again_after_a_reset)
{
    lk_latch *latch = locking_new(f, lk_latch);

    arrives(latch, 2, "a");
    assert_status(lk_latch_reset(latch, 2), LK_OK);
    assert_int_equal(latching_count(latch), 2);
    arrives(latch, 2, "a");
    assert_int_equal(latching_count(latch), 1);
    arrives(latch, 2, "b");
    assert_status(lk_latch_reset(latch, 2), LK_OK);
    arrives(latch, 2, "b");
    assert_int_equal(latching_count(latch), 1);
}

LOCKS_TEST(members_that_do_not_agree_are_told_so)
{
    lk_latch *latch = locking_new(f, lk_latch);

    arrives(latch, 3, "a");
    assert_status(lk_latch_arrive(locking_new(f, lk_latch), 4, "b"),
                  LK_EMISMATCH);
    assert_int_equal(latching_count(latch), 2);
    assert_status(lk_latch_reset(latch, 4), LK_OK);
    assert_status(lk_latch_arrive(latch, 3, "a"), LK_EMISMATCH);
    arrives(latch, 4, "a");
    assert_int_equal(latching_count(latch), 3);
}

/* ---- leaving ---- */

LOCKS_TEST(who_leaves_is_not_counted)
{
    lk_latch *latch = locking_new(f, lk_latch);
    uint64_t count = 0;

    arrives(latch, 2, "a");
    assert_false(leaves(latch, "a"));
    assert_status(lk_latch_count(latch, &count), LK_EUNSET);
    arrives(latch, 2, "b");
    assert_status(lk_latch_wait(latch, 0, NULL), LK_EBUSY);
    arrives(latch, 2, "a");
    assert_status(lk_latch_wait(latch, 0, NULL), LK_OK);
}

LOCKS_TEST(who_leaves_an_open_latch_is_told_to_start)
{
    lk_latch *latch = locking_new(f, lk_latch);

    arrives(latch, 2, "a");
    arrives(latch, 2, "b");
    assert_true(leaves(latch, "a"));
    assert_int_equal(latching_count(latch), 0);
}

LOCKS_TEST(who_was_not_there_may_leave)
{
    lk_latch *latch = locking_new(f, lk_latch);
    uint64_t count = 0;

    assert_false(leaves(latch, "a"));
    arrives(latch, 2, "b");
    assert_false(leaves(latch, "a"));
    assert_false(leaves(latch, "b"));
    assert_false(leaves(latch, "b"));
    assert_status(lk_latch_count(latch, &count), LK_EUNSET);
}

/*
 * Together or not at all: of two members, one stops waiting in the very moment
 * in which the other arrives. Either both start or neither does.
 */
typedef struct race {
    pthread_t thread;
    lk_latch *latch;
    lk_status status;
} race;

static void *other_arrives(void *data)
{
    race *r = data;

    r->status = lk_latch_arrive(r->latch, 2, "b");
    return NULL;
}

LOCKS_TEST(a_leave_that_meets_the_last_arrival_says_who_was_first)
{
    enum { ROUNDS = 200 };
    lk_latch *latch = locking_new(f, lk_latch);
    race r = {.latch = locking_new(f, lk_latch)};
    int started = 0;

    for (int i = 0; i < ROUNDS; i++) {
        bool open;

        assert_status(lk_latch_reset(latch, 2), LK_OK);
        arrives(latch, 2, "a");
        assert_int_equal(pthread_create(&r.thread, NULL, other_arrives, &r), 0);
        open = leaves(latch, "a");
        (void)pthread_join(r.thread, NULL);
        assert_status(r.status, LK_OK);
        assert_int_equal(latching_count(latch), open ? 0 : 1);
        started += open;
    }
    print_message("%d of %d started\n", started, ROUNDS);
}

/* ---- many ---- */

enum { MEMBERS = 8, MEETINGS = 25 };

typedef struct member {
    pthread_t thread;
    lk_latch *latch;
    char name[16];
    int failures;
} member;

/* Arrives, and waits for all the others, again and again. */
static void *member_run(void *data)
{
    member *m = data;

    if (lk_latch_arrive(m->latch, MEMBERS, m->name) != LK_OK)
        m->failures++;
    if (lk_latch_wait(m->latch, LATCHING_MS, NULL) != LK_OK)
        m->failures++;
    return NULL;
}

LOCKS_TEST(all_members_meet_every_time)
{
    member members[MEMBERS] = {0};
    lk_latch *latch = locking_new(f, lk_latch);

    for (int i = 0; i < MEMBERS; i++) {
        members[i].latch = locking_new(f, lk_latch);
        (void)snprintf(members[i].name, sizeof(members[i].name), "m%d", i);
    }
    for (int i = 0; i < MEETINGS; i++) {
        for (int j = 0; j < MEMBERS; j++)
            assert_int_equal(pthread_create(&members[j].thread, NULL,
                                            member_run, &members[j]),
                             0);
        for (int j = 0; j < MEMBERS; j++)
            (void)pthread_join(members[j].thread, NULL);
        for (int j = 0; j < MEMBERS; j++)
            assert_int_equal(members[j].failures, 0);
        assert_int_equal(latching_count(latch), 0);
        assert_status(lk_latch_delete(latch), LK_OK);
    }
}

CHECK_GROUP(locking_start_server, locking_stop_server)
