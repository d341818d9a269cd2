/* SPDX-License-Identifier: MIT */

/*
 * Eight processes that campaign, and a leader that is killed again and again;
 * for each that dies another one comes. Terms grow, no two lead at once, and
 * the next one leads when the lease of the dead has ended. Then leaders that
 * resign, and one that stands still beyond its lease.
 * LK_LONG=1 in the environment asks for leases four times as long.
 */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    AT_ONCE = 8,
    KILLS = 20,
    RESIGNATIONS = 20,
    LEASE_MS = 250,
    LATE_MS = 500, /* beyond the lease, on a busy machine */
    SETTLE_MS = 20000
};

/* Of each process. */
enum {
    TERM,     /* in which it leads; 0: it does not */
    SINCE_MS, /* when it came to lead */
    UNTIL_MS, /* so long it believes to lead */
    LOSSES,
    FAULTS
};

/* Of nobody. */
enum {
    NOBODY = WORKER_MAX - 1,
    GO = 0,     /* so many may campaign */
    LAST_TERM,  /* the highest so far */
    BAD_TERMS,  /* not larger than all before */
    OVERLAPS,   /* somebody else believed to lead */
    RESIGN_TERM /* who leads in this term is to resign */
};

static uint64_t lease_ms(void)
{
    const char *text = getenv("LK_LONG");
    bool is_long = text != NULL && strcmp(text, "1") == 0;

    return wait_scaled_ms(is_long ? 4 * LEASE_MS : LEASE_MS);
}

/* ---- the workers --------------------------------------------------------- */

typedef struct turn {
    worker_shared *shared;
    unsigned index;
} turn;

static bool has_come(void *data)
{
    const turn *t = data;

    return atomic_load(&t->shared->is_over) ||
           atomic_load(&t->shared->counters[NOBODY][GO]) > t->index;
}

static bool believes_until(const turn *t, const lk_hold *hold)
{
    uint64_t now = wait_now_ms();
    bool leads = lk_hold_check(hold) == LK_OK;

    atomic_store(&t->shared->counters[t->index][UNTIL_MS],
                 leads ? now + lk_hold_remaining_ms(hold) : 0);
    return leads;
}

/* By the clock of all, to the millisecond. It has said that it leads before it
   looks: so of two that come to lead at once, one at least sees the other. */
static void look_for_others(const turn *t)
{
    for (unsigned i = 0; i < NOBODY; i++) {
        if (i != t->index &&
            atomic_load(&t->shared->counters[i][UNTIL_MS]) > wait_now_ms() + 1)
            atomic_fetch_add(&t->shared->counters[NOBODY][OVERLAPS], 1);
    }
}

static void begin(const turn *t, lk_hold *hold)
{
    _Atomic uint64_t *nobody = t->shared->counters[NOBODY];
    _Atomic uint64_t *own = t->shared->counters[t->index];
    uint64_t term = lk_hold_fence(hold);

    (void)believes_until(t, hold);
    look_for_others(t);
    if (atomic_exchange(&nobody[LAST_TERM], term) >= term)
        atomic_fetch_add(&nobody[BAD_TERMS], 1);
    atomic_store(&own[SINCE_MS], wait_now_ms());
    atomic_store(&own[TERM], term);
}

static bool is_to_end(const turn *t, uint64_t term)
{
    return atomic_load(&t->shared->is_over) ||
           atomic_load(&t->shared->counters[NOBODY][RESIGN_TERM]) == term;
}

static void lead(const turn *t, lk_leader *leader, lk_hold *hold)
{
    _Atomic uint64_t *own = t->shared->counters[t->index];
    bool leads = true;

    begin(t, hold);
    while (leads && !is_to_end(t, lk_hold_fence(hold))) {
        const struct timespec pause = {0, 500000};

        leads = believes_until(t, hold);
        nanosleep(&pause, NULL);
    }
    atomic_store(&own[UNTIL_MS], 0);
    atomic_store(&own[TERM], 0);
    if (lk_leader_resign(leader, hold) == LK_ELOST || !leads)
        atomic_fetch_add(&own[LOSSES], 1);
}

static int worker_run(worker_shared *shared, unsigned index, void *data)
{
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT,
                                       .lease_ms = lease_ms()};
    turn t = {shared, index};
    lk_client *client;
    lk_leader *leader;
    lk_hold *hold;

    if (!wait_until(has_come, &t, 4 * SETTLE_MS))
        return 1;
    if (lk_client_open(&client, server_url(data), NULL) != LK_OK ||
        lk_leader_new(&leader, client, "n", &options) != LK_OK)
        return 2;
    while (!atomic_load(&shared->is_over)) {
        lk_status status = lk_leader_campaign(leader, 100, NULL, &hold);

        if (status == LK_OK)
            lead(&t, leader, hold);
        else if (status != LK_ETIMEDOUT && status != LK_EINDOUBT)
            atomic_fetch_add(&shared->counters[index][FAULTS], 1);
    }
    lk_leader_free(leader);
    lk_client_free(client);
    return 0;
}

/* ---- the parent ---------------------------------------------------------- */

typedef struct search {
    workers *w;
    uint64_t after; /* this term */
    unsigned found;
} search;

static bool is_led(void *data)
{
    search *s = data;

    for (unsigned i = 0; i < NOBODY; i++) {
        if (atomic_load(&workers_shared(s->w)->counters[i][TERM]) > s->after) {
            s->found = i;
            return true;
        }
    }
    return false;
}

/* The process that leads in a later term than this. */
static unsigned next_leader(workers *w, uint64_t after)
{
    search s = {.w = w, .after = after};

    if (!wait_until(is_led, &s, SETTLE_MS))
        fail_msg("nobody leads after term %llu", (unsigned long long)after);
    return s.found;
}

static workers *start(server *s, unsigned count, unsigned at_once)
{
    workers *w = workers_start(count, worker_run, s);

    assert_non_null(w);
    atomic_store(&workers_shared(w)->counters[NOBODY][GO], at_once);
    return w;
}

static uint64_t term_of(workers *w, unsigned index)
{
    return atomic_load(&workers_shared(w)->counters[index][TERM]);
}

static uint64_t since_of(workers *w, unsigned index)
{
    return atomic_load(&workers_shared(w)->counters[index][SINCE_MS]);
}

static void finish(workers *w, unsigned succeeded)
{
    const _Atomic uint64_t *nobody = workers_shared(w)->counters[NOBODY];

    workers_end(w);
    assert_true(workers_wait(w, SETTLE_MS));
    assert_int_equal(workers_succeeded(w), succeeded);
    assert_int_equal(nobody[BAD_TERMS], 0);
    assert_int_equal(nobody[OVERLAPS], 0);
    assert_int_equal(workers_count(w, FAULTS), 0);
    workers_free(w);
}

static void a_killed_leader_is_followed_when_its_lease_has_ended(void **state)
{
    workers *w = start(*state, AT_ONCE + KILLS, AT_ONCE);
    uint64_t most = 0, sum = 0, after = 0;

    for (unsigned i = 0; i < KILLS; i++) {
        unsigned leader = next_leader(w, after);
        uint64_t at, took;

        after = atomic_load(&workers_shared(w)->counters[NOBODY][LAST_TERM]);
        workers_kill(w, leader, SIGKILL);
        at = wait_now_ms();
        atomic_store(&workers_shared(w)->counters[leader][TERM], 0);
        atomic_fetch_add(&workers_shared(w)->counters[NOBODY][GO], 1);
        took = since_of(w, next_leader(w, after));
        took = took > at ? took - at : 0;
        most = took > most ? took : most;
        sum += took;
    }
    print_message("lease %llu ms, %d leaders killed: the next one after "
                  "%llu ms at most, %llu on average\n",
                  (unsigned long long)lease_ms(), KILLS,
                  (unsigned long long)most, (unsigned long long)(sum / KILLS));
    assert_in_range(most, 0, lease_ms() + wait_scaled_ms(LATE_MS));
    finish(w, AT_ONCE);
}

static void a_leader_that_resigns_is_followed_at_once(void **state)
{
    workers *w = start(*state, AT_ONCE, AT_ONCE);
    uint64_t most = 0, sum = 0;

    (void)next_leader(w, 0);
    for (unsigned i = 0; i < RESIGNATIONS; i++) {
        uint64_t term =
            atomic_load(&workers_shared(w)->counters[NOBODY][LAST_TERM]);
        uint64_t at = wait_now_ms(), took;

        atomic_store(&workers_shared(w)->counters[NOBODY][RESIGN_TERM], term);
        took = since_of(w, next_leader(w, term)) - at;
        most = took > most ? took : most;
        sum += took;
    }
    print_message("%d leaders resigned: the next one after %llu ms at most, "
                  "%llu on average\n",
                  RESIGNATIONS, (unsigned long long)most,
                  (unsigned long long)(sum / RESIGNATIONS));
    assert_in_range(sum / RESIGNATIONS, 0, wait_scaled_ms(100));
    finish(w, AT_ONCE);
}

static bool has_lost(void *data)
{
    return atomic_load((_Atomic uint64_t *)data) > 0;
}

/* Nobody can tell it while it stands; it knows when it goes on. */
static void one_that_stood_still_knows_that_it_leads_no_more(void **state)
{
    workers *w = start(*state, 2, 2);
    unsigned leader = next_leader(w, 0), next;
    uint64_t term = term_of(w, leader), second;
    _Atomic uint64_t *losses;

    workers_kill(w, leader, SIGSTOP);
    atomic_store(&workers_shared(w)->counters[leader][TERM], 0);
    next = next_leader(w, term);
    assert_int_equal(next, 1 - leader);
    second = term_of(w, next);
    assert_true(second > term);
    workers_kill(w, leader, SIGCONT);
    losses = &workers_shared(w)->counters[leader][LOSSES];
    assert_true(wait_until(has_lost, losses, SETTLE_MS));
    atomic_store(&workers_shared(w)->counters[NOBODY][RESIGN_TERM], second);
    (void)next_leader(w, second);
    finish(w, 2);
}

/* ---- the program ----------------------------------------------------------- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_leader_is_followed_when_its_lease_has_ended),
        cmocka_unit_test(a_leader_that_resigns_is_followed_at_once),
        cmocka_unit_test(one_that_stood_still_knows_that_it_leads_no_more),
    };

    return cmocka_run_group_tests_name("leader_stress", tests, one_server_start,
                                       one_server_stop);
}
