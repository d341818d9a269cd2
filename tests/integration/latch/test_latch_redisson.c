/* SPDX-License-Identifier: MIT */

/* The latch together with Redisson's RCountDownLatch of the same name. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/latch_standin.h"
#include "support/latching.h"
#include "support/wait.h"

enum { SOON_MS = 500, SHORT_MS = 60 };

typedef struct meeting {
    latching *f;
    latch_standin *java;
    lk_latch *latch; /* of the client that changes */
    lk_latch *other; /* of the one that waits */
} meeting;

static meeting meet(latching *f)
{
    meeting m = {.f = f,
                 .java = latch_standin_new(server_socket(f->server), "n")};

    m.latch = latching_latch(f);
    m.other = latching_latch(f);
    return m;
}

static void part(meeting *m)
{
    latch_standin_free(m->java);
}

/* A thread of the other client waits, and has had its answer. */
static waiter *waits(meeting *m)
{
    waiter *w = latching_wait(m->f, m->other, LK_FOREVER, NULL);

    latching_wait_listed(m->f, 1);
    latching_wait_calm(latching_client(m->f, 1));
    return w;
}

/* ---- ours opens, theirs wait ---- */

LATCHING_TEST(redisson_waits_for_what_we_count_down)
{
    meeting m = meet(f);

    latching_arm(m.latch, 2);
    assert_int_equal(latch_standin_count(m.java), 2);
    assert_false(latch_standin_begins(m.java));
    latching_down(m.latch, 2);
    assert_true(latch_standin_waits(m.java, LATCHING_MS));
    assert_int_equal(latch_standin_count(m.java), 0);
    part(&m);
}

LATCHING_TEST(redisson_waits_for_the_last_member)
{
    meeting m = meet(f);

    assert_status(lk_latch_arrive(m.latch, 2, "a"), LK_OK);
    assert_false(latch_standin_begins(m.java));
    latch_standin_down(m.java);
    assert_true(latch_standin_waits(m.java, LATCHING_MS));
    assert_int_equal(latching_count(m.latch), 0);
    part(&m);
}

/* ---- theirs opens, ours wait ---- */

LATCHING_TEST(we_wait_for_what_redisson_counts_down)
{
    meeting m = meet(f);
    waiter *w;
    uint64_t opened_at;

    latching_arm(m.latch, 2);
    w = waits(&m);
    latch_standin_down(m.java);
    assert_false(waiter_has_ended(w, SHORT_MS));
    assert_int_equal(latching_count(m.latch), 1);
    opened_at = wait_now_ms();
    latch_standin_down(m.java);
    assert_status(waiter_status(w), LK_OK);
    assert_in_range(wait_now_ms() - opened_at, 0,
                    wait_allowed_ms(wait_scaled_ms(SOON_MS)));
    /* It was ours: it stays open. */
    assert_int_equal(latching_count(m.latch), 0);
    assert_status(lk_latch_wait(m.other, 0, NULL), LK_OK);
    assert_status(lk_latch_try_set_count(m.latch, 2), LK_EALREADY);
    part(&m);
}

LATCHING_TEST(we_wait_for_what_redisson_armed)
{
    meeting m = meet(f);
    waiter *w;
    uint64_t count;

    assert_true(latch_standin_set(m.java, 1));
    assert_status(lk_latch_try_set_count(m.latch, 5), LK_EALREADY);
    assert_int_equal(latching_count(m.latch), 1);
    w = waits(&m);
    latch_standin_down(m.java);
    assert_status(waiter_status(w), LK_OK);
    /* It was Redisson's alone: gone once open. */
    assert_status(lk_latch_count(m.latch, &count), LK_EUNSET);
    assert_status(lk_latch_wait(m.other, 0, NULL), LK_EBUSY);
    part(&m);
}

/* The message did not come: an ordinary wait of Redisson's would hang. */
LATCHING_TEST(a_lost_message_of_redissons_costs_a_second)
{
    meeting m = meet(f);
    waiter *w;
    uint64_t opened_at;

    latching_arm(m.latch, 1);
    w = waits(&m);
    opened_at = wait_now_ms();
    assert_int_equal(server_integer(m.f->server, "DEL n"), 1);
    assert_status(waiter_status(w), LK_OK);
    assert_in_range(wait_now_ms() - opened_at, 0,
                    wait_allowed_ms(1000 + wait_scaled_ms(500)));
    part(&m);
}

/* The first of ours that looks tells the others. */
LATCHING_TEST(who_finds_it_open_tells_the_others)
{
    enum { CLIENTS = 6 };
    waiter *waiters[CLIENTS];
    uint64_t first = UINT64_MAX, last = 0;

    latching_arm(latching_latch(f), 1);
    for (int i = 0; i < CLIENTS; i++)
        waiters[i] = latching_wait(f, latching_latch(f), LK_FOREVER, NULL);
    latching_wait_listed(f, CLIENTS);
    for (size_t i = 0; i <= CLIENTS; i++)
        latching_wait_calm(latching_client(f, i));
    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    for (int i = 0; i < CLIENTS; i++) {
        uint64_t now;

        assert_status(waiter_status(waiters[i]), LK_OK);
        now = wait_now_ms();
        first = now < first ? now : first;
        last = now > last ? now : last;
    }
    assert_in_range(last - first, 0, wait_scaled_ms(200));
}

/* ---- both count ---- */

LATCHING_TEST(both_count_the_same_latch_down)
{
    meeting m = meet(f);

    assert_true(latch_standin_set(m.java, 6));
    latching_down(m.latch, 1);
    latch_standin_down(m.java);
    assert_status(lk_latch_arrive(m.latch, 6, "a"), LK_OK);
    assert_int_equal(latch_standin_count(m.java), 3);
    latching_down(m.latch, 3);
    assert_int_equal(latch_standin_count(m.java), 0);
    /* We had a part in it: it stays open. */
    assert_int_equal(latching_count(m.latch), 0);
    latch_standin_down(m.java);
    assert_int_equal(latching_count(m.latch), 0);
    assert_int_equal(server_integer(m.f->server, "EXISTS n"), 0);
    part(&m);
}

LATCHING_TEST(redisson_may_arm_what_is_open)
{
    meeting m = meet(f);
    waiter *w;

    assert_status(lk_latch_arrive(m.latch, 1, "a"), LK_OK);
    assert_true(latch_standin_set(m.java, 2));
    assert_int_equal(latching_count(m.latch), 2);
    assert_status(lk_latch_wait(m.other, 0, NULL), LK_EBUSY);
    w = waits(&m);
    assert_status(lk_latch_arrive(m.latch, 2, "a"), LK_OK);
    latch_standin_down(m.java);
    assert_status(waiter_status(w), LK_OK);
    part(&m);
}

/* ---- deleting ---- */

/* Redisson reads a count that is missing as open, and so do we. */
LATCHING_TEST(what_redisson_deletes_is_open)
{
    meeting m = meet(f);
    waiter *w;

    latching_arm(m.latch, 2);
    w = waits(&m);
    assert_true(latch_standin_delete(m.java));
    assert_status(waiter_status(w), LK_OK);
    part(&m);
}

/* Nobody starts because of a delete: as if Redisson itself had done it. */
LATCHING_TEST(what_we_delete_opens_for_nobody)
{
    meeting m = meet(f);
    waiter *w;

    latching_arm(m.latch, 2);
    assert_false(latch_standin_begins(m.java));
    w = waits(&m);
    assert_status(lk_latch_delete(m.latch), LK_OK);
    assert_status(waiter_status(w), LK_EGONE);
    assert_int_equal(latch_standin_count(m.java), 0);
    assert_false(latch_standin_delete(m.java));
    part(&m);
}

/* ---- names ---- */

LATCHING_TEST(a_name_with_a_tag_is_the_same_latch)
{
    lk_client *client = latching_open(f, NULL);
    latch_standin *java =
        latch_standin_new(server_socket(f->server), "a{tag}b");
    lk_latch *latch;

    assert_status(lk_latch_new(&latch, client, "a{tag}b", NULL), LK_OK);
    assert_true(latch_standin_set(java, 1));
    assert_int_equal(latching_count(latch), 1);
    assert_false(latch_standin_begins(java));
    latching_down(latch, 1);
    assert_true(latch_standin_waits(java, LATCHING_MS));
    assert_int_equal(server_integer(f->server, "EXISTS latchkey::a{tag}b:r"),
                     1);
    lk_latch_free(latch);
    latch_standin_free(java);
}

int main(void)
{
    return check_all(latching_start_server, latching_stop_server);
}
