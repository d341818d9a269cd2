/* SPDX-License-Identifier: MIT */
#include "support/leading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

lk_leader *
leading_in(locking *f, lk_client *client, const lk_leader_options *options)
{
    lk_leader *leader = NULL;

    assert_status(lk_leader_new(&leader, client, "n", options), LK_OK);
    return locking_keep(f, kinds[KIND_LEADER], client, leader);
}

lk_leader *leading_new(locking *f, const lk_leader_options *options)
{
    return leading_in(f, locking_open(f, NULL), options);
}

lk_leader *leading_as(locking *f, const char *value)
{
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT, .value = value};

    return leading_new(f, &options);
}

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
