/* SPDX-License-Identifier: MIT */

/*
 * A leader that is cut off, or gets no answers: it is warned, and told of its end
 * before the next one can lead.
 */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/check.h"
#include "support/leading.h"
#include "support/proxy.h"
#include "support/wait.h"

/* LOST_MS: a lease that is to be lost, but not before the fault. */
enum { SETTLE_MS = 10000, LOST_MS = 700 };

/* A leader behind a network that can be broken, and the next one, which waits
   and has a good connection. */
typedef struct pair {
    locking *f;
    proxy *proxy;
    uint64_t lease_ms;
    lk_client *client;
    lk_leader *leader;
    lk_hold *hold;
    lk_leader *next;
    tells *told; /* of the leader's loss */
    call *candidate;
    lk_leader_watch *watch;
    tells *seen; /* by somebody else */
} pair;

static void pair_begin(pair *p, locking *f, uint64_t lease_ms)
{
    static tells told, seen;
    lk_leader_options options = {LK_LEADER_OPTIONS_INIT, .lease_ms = lease_ms,
                                 .value = "first", .lost = tells_loss,
                                 .lost_data = &told};

    memset(&told, 0, sizeof(told));
    memset(&seen, 0, sizeof(seen));
    *p = (pair){.f = f, .told = &told, .seen = &seen};
    p->lease_ms = options.lease_ms;
    p->proxy = proxy_start(server_socket(f->server));
    assert_non_null(p->proxy);
    p->client = locking_open_url(f, proxy_url(p->proxy), NULL);
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
    p->candidate = locking_begin(f, p->next, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
}

static void pair_end(pair *p)
{
    proxy_heal(p->proxy);
    lk_leader_watch_free(p->watch);
    (void)lk_client_shutdown(p->client, 1000);
    (void)lk_hold_release(p->hold);
    if (p->candidate->hold != NULL)
        assert_status(lk_leader_resign(p->next, locking_granted(p->candidate)),
                      LK_OK);
    proxy_stop(p->proxy);
}

static bool is_end_told(const tells *t)
{
    unsigned count = atomic_load(&t->count);

    return count > 1 && t->told[count - 1].remaining_ms == 0;
}

/* Waits until it was told of the end, behind a notice. Returns which word that was:
   a renewal that came late, before the fault, has armed the notice again. */
static unsigned wait_end(const pair *p)
{
    assert_soon(is_end_told(p->told), SETTLE_MS);
    return atomic_load(&p->told->count) - 1;
}

/* Told a third of the lease before the end, told at the end, and then there is
   another leader: each at its time. */
static void assert_told_in_time(pair *p)
{
    unsigned end = wait_end(p);

    assert_status(call_wait(p->candidate, NULL), LK_OK);
    assert_int_equal(atomic_load(&p->told->count), end + 1);
    for (unsigned i = 0; i < end; i++) {
        assert_in_range(p->told->told[i].remaining_ms, 1, p->lease_ms / 3);
        assert_true(p->told->told[i].at_ms <= p->told->told[i + 1].at_ms);
    }
    assert_true(p->told->told[end].at_ms <= p->candidate->at_ms);
    assert_status(lk_hold_check(p->hold), LK_ELOST);
    assert_true(lk_hold_fence(p->candidate->hold) > lk_hold_fence(p->hold));
    /* Perhaps it was seen before that nobody led. */
    assert_soon(strcmp(p->seen->told[atomic_load(&p->seen->count) - 1].value,
                       "second") == 0,
                SETTLE_MS);
}

LOCKS_TEST(a_leader_that_is_cut_off_is_told_before_the_next_leads)
{
    pair p;

    pair_begin(&p, f, wait_limit_ms(LOST_MS));
    proxy_refuse(p.proxy, true);
    proxy_reset(p.proxy, PROXY_ALL);
    assert_told_in_time(&p);
    assert_unreachable(lk_hold_loss(p.hold));
    pair_end(&p);
}

/* Its renewals arrive, so nobody else leads as long as they do; then they stop
   as well, and it has been told long ago. */
LOCKS_TEST(so_is_one_that_gets_no_answers)
{
    pair p;

    pair_begin(&p, f, wait_limit_ms(LOST_MS));
    proxy_swallow(p.proxy, PROXY_ALL, PROXY_REPLIES);
    (void)wait_end(&p);
    proxy_refuse(p.proxy, true);
    proxy_reset(p.proxy, PROXY_ALL);
    assert_told_in_time(&p);
    pair_end(&p);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
