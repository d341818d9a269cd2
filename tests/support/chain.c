/* SPDX-License-Identifier: MIT */
#include "support/chain.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { LONG_MS = 60000 };

/* ---- the ledger ---------------------------------------------------------- */

ledger *ledger_new(void)
{
    ledger *l = calloc(1, sizeof(*l));

    assert_non_null(l);
    return l;
}

void ledger_free(ledger *l)
{
    free(l);
}

void ledger_write(ledger *l, const lk_hold *hold, int writer)
{
    int at = atomic_load(&l->count);

    if (at >= GRANTS_MAX)
        return;
    l->fences[at] = lk_hold_fence(hold);
    l->writers[at] = writer;
    atomic_store(&l->count, at + 1);
}

bool ledger_grows(const ledger *l)
{
    int count = atomic_load(&l->count);

    for (int i = 1; i < count && i < GRANTS_MAX; i++) {
        if (l->fences[i] <= l->fences[i - 1])
            return false;
    }
    return count <= GRANTS_MAX;
}

int ledger_changes(const ledger *l)
{
    int changes = 0;

    for (int i = 1; i < atomic_load(&l->count); i++)
        changes += l->writers[i] != l->writers[i - 1];
    return changes;
}

/* ---- the chain ------------------------------------------------------------ */

static void lane_go_on(chain_lane *l);

static void lane_release(chain_lane *l)
{
    if (lk_hold_release_async(l->hold, NULL, NULL) != LK_OK)
        (void)atomic_fetch_add(&l->chain->failed, 1);
    lane_go_on(l);
}

static void on_worked(lk_status status, bool locked, void *data)
{
    chain_lane *l = data;

    if (status != LK_OK || !locked)
        (void)atomic_fetch_add(&l->chain->failed, 1);
    lane_release(l);
}

static void on_granted(lk_status status, lk_hold *hold, void *data)
{
    chain_lane *l = data;
    chain *c = l->chain;

    if (status != LK_OK) {
        (void)atomic_fetch_add(&c->failed, 1);
        lane_go_on(l);
        return;
    }
    ledger_write(c->ledger, hold, c->number);
    (void)atomic_fetch_add(&c->granted, 1);
    l->hold = hold;
    if (!c->works)
        lane_release(l);
    else if (lk_lock_is_locked_async(c->lock, on_worked, l) != LK_OK)
        (void)atomic_fetch_add(&c->failed, 1);
}

static void lane_go_on(chain_lane *l)
{
    chain *c = l->chain;

    if (--c->left < 0 || atomic_load(&c->stopping) ||
        lk_lock_acquire_async(c->lock, LONG_MS, NULL, on_granted, l) != LK_OK)
        (void)atomic_fetch_add(&c->ended, 1);
}

/* From a callback, so that all of it is on the loop. */
static void chain_begin(lk_status status, bool locked, void *data)
{
    chain *c = data;

    (void)status;
    (void)locked;
    for (int i = 0; i < CHAIN_LANES; i++) {
        c->lanes[i].chain = c;
        lane_go_on(&c->lanes[i]);
    }
}

void chain_start(chain *c, lk_lock *lock, ledger *l, int grants)
{
    c->lock = lock;
    c->ledger = l;
    c->left = grants;
    assert_status(lk_lock_is_locked_async(lock, chain_begin, c), LK_OK);
}

static bool chain_has_ended(void *data)
{
    chain *c = data;

    return atomic_load(&c->ended) == CHAIN_LANES;
}

void chain_wait(chain *c)
{
    if (!wait_until(chain_has_ended, c, LONG_MS))
        fail_msg("%d lanes ended, %d grants", atomic_load(&c->ended),
                 atomic_load(&c->granted));
    assert_int_equal(atomic_load(&c->failed), 0);
}

struct progress {
    chain *chain;
    int least;
};

static bool has_granted(void *data)
{
    const struct progress *p = data;

    return atomic_load(&p->chain->granted) >= p->least;
}

void chain_wait_granted(chain *c, int more)
{
    struct progress p = {c, atomic_load(&c->granted) + more};

    if (!wait_until(has_granted, &p, LONG_MS))
        fail_msg("no more than %d grants", atomic_load(&c->granted));
}

void chain_stop(chain *c)
{
    atomic_store(&c->stopping, true);
}
