/* SPDX-License-Identifier: MIT */

/*
 * A leader that is cut off, whose server stands still, or that stands still
 * itself: it is told before the next one can lead. And what happens where the
 * server forgets.
 */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/leading.h"
#include "support/proxy.h"
#include "support/wait.h"

/* LOST_MS: a lease that is to be lost. FORGOTTEN_MS: one whose renewal, at a
   third of it, is to find that out before it ends. */
enum { SETTLE_MS = 10000, LOST_MS = 700, FORGOTTEN_MS = 6000 };

/* A leader behind a network that can be broken, and the next one, which waits
   and has a good connection. */
typedef struct pair {
    leading *f;
    proxy *proxy;
    uint64_t lease_ms;
    lk_client *client;
    lk_leader *leader;
    lk_hold *hold;
    lk_leader *next;
    tells *told; /* of the leader's loss */
    candidate *candidate;
    lk_leader_watch *watch;
    tells *seen; /* by somebody else */
} pair;

static void pair_begin(pair *p, leading *f, unsigned lease_ms)
{
    static tells told, seen;
    lk_leader_options options = {LK_LEADER_OPTIONS_INIT, .lease_ms = lease_ms,
                                 .value = "first", .lost = tells_loss,
                                 .lost_data = &told};

    memset(&told, 0, sizeof(told));
    memset(&seen, 0, sizeof(seen));
    *p = (pair){.f = f,
                .told = &told,
                .seen = &seen,
                .candidate = candidate_new(f)};
    p->lease_ms = options.lease_ms;
    p->proxy = proxy_start(server_socket(f->base->server));
    assert_non_null(p->proxy);
    p->client = locking_open_url(f->base, proxy_url(p->proxy), NULL);
    p->leader = leading_in(f, p->client, &options);
    assert_status(lk_leader_campaign(p->leader, SETTLE_MS, NULL, &p->hold),
                  LK_OK);
    options.lost = NULL;
    options.value = "second";
    p->next = leading_new(f, &options);
    assert_status(lk_leader_watch_new(&p->watch, leading_new(f, NULL),
                                      tells_change, &seen),
                  LK_OK);
    tells_wait(&seen, 1);
    candidate_start(p->candidate, p->next, LK_FOREVER);
    locking_wait_queued(f->base, "n", 1);
}

static void pair_end(pair *p)
{
    proxy_heal(p->proxy);
    lk_leader_watch_free(p->watch);
    (void)lk_client_shutdown(p->client, 1000);
    (void)lk_hold_release(p->hold);
    if (p->candidate->hold != NULL)
        assert_status(lk_leader_resign(p->next, p->candidate->hold), LK_OK);
    proxy_stop(p->proxy);
}

/* Perhaps it was seen before that nobody led. */
static bool is_second_seen(void *data)
{
    const tells *t = data;

    return strcmp(t->told[atomic_load(&t->count) - 1].value, "second") == 0;
}

static bool is_end_told(void *data)
{
    const tells *t = data;
    unsigned count = atomic_load(&t->count);

    return count > 1 && t->told[count - 1].remaining_ms == 0;
}

/* Waits until it was told of the end, behind a notice. Returns which word that was:
   a renewal that came late, before the fault, has armed the notice again. */
static unsigned wait_end(const pair *p)
{
    assert_true(wait_until(is_end_told, p->told, SETTLE_MS));
    return atomic_load(&p->told->count) - 1;
}

/* Told a third of the lease before the end, told at the end, and then there is
   another leader: each at its time. */
static void assert_told_in_time(pair *p)
{
    unsigned end = wait_end(p);

    assert_status(candidate_join(p->candidate), LK_OK);
    assert_int_equal(atomic_load(&p->told->count), end + 1);
    for (unsigned i = 0; i < end; i++) {
        assert_in_range(p->told->told[i].remaining_ms, 1, p->lease_ms / 3);
        assert_true(p->told->told[i].at_ms <= p->told->told[i + 1].at_ms);
    }
    assert_true(p->told->told[end].at_ms <= p->candidate->at_ms);
    assert_status(lk_hold_check(p->hold), LK_ELOST);
    assert_true(lk_hold_fence(p->candidate->hold) > lk_hold_fence(p->hold));
    assert_true(wait_until(is_second_seen, p->seen, SETTLE_MS));
}

static void a_leader_that_is_cut_off_is_told_before_the_next_leads(void **state)
{
    pair p;

    pair_begin(&p, *state, wait_scaled_ms(LOST_MS));
    proxy_refuse(p.proxy, true);
    proxy_reset(p.proxy, PROXY_ALL);
    assert_told_in_time(&p);
    assert_int_equal(lk_hold_loss(p.hold), LK_LOSS_UNREACHABLE);
    pair_end(&p);
}

static void so_is_one_whose_requests_get_lost(void **state)
{
    pair p;

    pair_begin(&p, *state, wait_scaled_ms(LOST_MS));
    proxy_swallow(p.proxy, PROXY_ALL, PROXY_REQUESTS);
    assert_told_in_time(&p);
    pair_end(&p);
}

/* Its renewals arrive, so nobody else leads as long as they do; then they stop
   as well, and it has been told long ago. */
static void so_is_one_that_gets_no_answers(void **state)
{
    pair p;

    pair_begin(&p, *state, wait_scaled_ms(LOST_MS));
    proxy_swallow(p.proxy, PROXY_ALL, PROXY_REPLIES);
    (void)wait_end(&p);
    proxy_refuse(p.proxy, true);
    proxy_reset(p.proxy, PROXY_ALL);
    assert_told_in_time(&p);
    pair_end(&p);
}

static void so_is_one_whose_server_stands_still(void **state)
{
    pair p;

    pair_begin(&p, *state, wait_scaled_ms(LOST_MS));
    server_freeze(p.f->base->server);
    (void)wait_end(&p);
    server_thaw(p.f->base->server);
    assert_told_in_time(&p);
    pair_end(&p);
}

/* A connection that breaks and comes back costs no leader the lead. */
static void a_cut_that_heals_costs_nothing(void **state)
{
    pair p;

    pair_begin(&p, *state, wait_lease_ms());
    for (int i = 0; i < 3; i++) {
        uint64_t connects = locking_stats(p.client).connects;

        proxy_reset(p.proxy, PROXY_ALL);
        locking_wait_connects(p.client, connects + 2);
    }
    for (int i = 1; i <= 2; i++)
        proxy_drop_replies(p.proxy, proxy_accepted(p.proxy) - i, true);
    locking_pass_time((unsigned)p.lease_ms);
    assert_status(lk_hold_check(p.hold), LK_OK);
    assert_false(atomic_load(&p.candidate->done));
    assert_status(lk_leader_resign(p.leader, p.hold), LK_OK);
    p.hold = NULL;
    assert_status(candidate_join(p.candidate), LK_OK);
    pair_end(&p);
}

static bool is_loss_told(void *data)
{
    const tells *t = data;
    unsigned count = atomic_load(&t->count);

    return count > 0 && t->told[count - 1].remaining_ms == 0;
}

/* It may have been warned before, as of any lease that is nearly over. */
static void wait_loss_told(const pair *p)
{
    assert_true(wait_until(is_loss_told, p->told, SETTLE_MS));
    assert_status(p->told->told[atomic_load(&p->told->count) - 1].status,
                  LK_ELOST);
    assert_status(lk_hold_check(p->hold), LK_ELOST);
}

/* ---- where the server forgets --------------------------------------------------- */

/* The next leader may be there first: its term is larger, and the old one is
   told with its next renewal. */
static void after_a_flush_terms_grow_and_the_old_leader_is_told(void **state)
{
    pair p;

    pair_begin(&p, *state, wait_scaled_ms(FORGOTTEN_MS));
    server_flush(p.f->base->server);
    assert_status(candidate_join(p.candidate), LK_OK);
    assert_true(lk_hold_fence(p.candidate->hold) > lk_hold_fence(p.hold));
    wait_loss_told(&p);
    assert_in_range(lk_hold_loss(p.hold), LK_LOSS_DELETED, LK_LOSS_TAKEN);
    pair_end(&p);
}

static void after_a_restart_without_data_terms_grow(void **state)
{
    pair p;

    pair_begin(&p, *state, wait_scaled_ms(LOST_MS));
    assert_true(server_restart(p.f->base->server));
    assert_status(candidate_join(p.candidate), LK_OK);
    assert_true(lk_hold_fence(p.candidate->hold) > lk_hold_fence(p.hold));
    wait_loss_told(&p);
    pair_end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LEADER_TEST(a_leader_that_is_cut_off_is_told_before_the_next_leads),
        LEADER_TEST(so_is_one_whose_requests_get_lost),
        LEADER_TEST(so_is_one_that_gets_no_answers),
        LEADER_TEST(so_is_one_whose_server_stands_still),
        LEADER_TEST(a_cut_that_heals_costs_nothing),
        LEADER_TEST(after_a_flush_terms_grow_and_the_old_leader_is_told),
        LEADER_TEST(after_a_restart_without_data_terms_grow),
    };

    return cmocka_run_group_tests_name("leader_faults", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
