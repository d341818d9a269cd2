/* SPDX-License-Identifier: MIT */
#include "support/leading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

int leading_setup(void **state)
{
    leading *f = calloc(1, sizeof(*f));

    if (f == NULL || locking_setup(state) != 0) {
        free(f);
        return -1;
    }
    f->base = *state;
    *state = f;
    return 0;
}

int leading_teardown(void **state)
{
    leading *f = *state;

    for (size_t i = 0; i < f->count; i++)
        lk_leader_free(f->leaders[i]);
    *state = f->base;
    if (locking_teardown(state) != 0)
        return -1;
    free(f);
    return 0;
}

lk_leader *
leading_in(leading *f, lk_client *client, const lk_leader_options *options)
{
    lk_leader *leader = NULL;

    assert_true(f->count < LEADERS);
    assert_status(lk_leader_new(&leader, client, "n", options), LK_OK);
    f->leaders[f->count++] = leader;
    return leader;
}

lk_leader *leading_new(leading *f, const lk_leader_options *options)
{
    return leading_in(f, locking_open(f->base, NULL), options);
}

lk_leader *leading_as(leading *f, const char *value)
{
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT, .value = value};

    return leading_new(f, &options);
}

lk_hold *leading_hold(lk_leader *leader)
{
    lk_hold *hold = NULL;

    assert_status(lk_leader_campaign(leader, 0, NULL, &hold), LK_OK);
    return hold;
}

/* ---- candidates -------------------------------------------------------------- */

candidate *candidate_new(leading *f)
{
    assert_true(f->candidate_count < LEADERS);
    return &f->candidates[f->candidate_count++];
}

static void on_campaign(lk_status status, lk_hold *hold, void *data)
{
    candidate *c = data;

    c->status = status;
    c->hold = hold;
    c->at_ms = wait_now_ms();
    atomic_store(&c->done, true);
}

void candidate_start(candidate *c, lk_leader *leader, int64_t wait_ms)
{
    assert_status(lk_leader_campaign_async(leader, wait_ms, NULL, on_campaign,
                                           c),
                  LK_OK);
}

static bool is_done(void *data)
{
    return atomic_load(&((candidate *)data)->done);
}

lk_status candidate_join(candidate *c)
{
    if (!wait_until(is_done, c, SOON_MS))
        fail_msg("a campaign does not end");
    return c->status;
}

/* ---- what was told ----------------------------------------------------------- */

/* One at a time, as the library promises; a test reads when it is counted. */
static void note(tells *t, lk_status status, uint64_t term, const char *value,
                 uint64_t remaining_ms)
{
    unsigned i = atomic_load(&t->count);

    if (i >= LEADING_TELLS)
        return;
    t->told[i].status = status;
    t->told[i].term = term;
    t->told[i].remaining_ms = remaining_ms;
    t->told[i].at_ms = wait_now_ms();
    snprintf(t->told[i].value, sizeof(t->told[i].value), "%s", value);
    atomic_store(&t->count, i + 1);
}

void tells_change(lk_status status, const lk_party *leader, void *data)
{
    note(data, status, leader != NULL ? leader->fence : 0,
         leader != NULL ? leader->reason : "", 0);
}

void tells_loss(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    note(data, lk_hold_check(hold), lk_hold_fence(hold), "", remaining_ms);
}

struct wanted {
    tells *t;
    unsigned count;
};

static bool is_told(void *data)
{
    const struct wanted *w = data;

    return atomic_load(&w->t->count) >= w->count;
}

void tells_wait(tells *t, unsigned count)
{
    struct wanted w = {t, count};

    if (!wait_until(is_told, &w, SOON_MS))
        fail_msg("told %u times, not %u", atomic_load(&t->count), count);
}
