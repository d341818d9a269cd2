/* SPDX-License-Identifier: MIT */

#include "calls.h"

#include <string.h>

enum { WATCHDOG_MS = 30000, NAMED_MS = 5000 };

void calls_began(calls *c, lk_status status)
{
    if (status == LK_OK)
        c->begun++;
}

void calls_on_done(lk_status status, void *data)
{
    calls *c = data;

    (void)status;
    c->ended++;
}

static void release(calls *c, lk_hold *hold)
{
    calls_began(c, lk_hold_release_async(hold, calls_on_done, c));
}

static void hold_check(const calls *c, const lk_hold *hold)
{
    if (!c->h->may_have_given)
        input_fail("a hold that nobody has granted");
    if (lk_hold_remaining_ms(hold) > c->longest_ms)
        input_fail("a hold that lasts longer than was asked for");
}

void calls_take(calls *c, lk_status status, lk_hold *hold)
{
    if (status != LK_OK)
        return;
    if (hold == NULL)
        input_fail("success without a hold");
    hold_check(c, hold);
    if (c->hold_count < CALLS_HOLDS && !c->h->is_over)
        c->holds[c->hold_count++] = hold;
    else
        release(c, hold);
}

void calls_on_acquire(lk_status status, lk_hold *hold, void *data)
{
    calls *c = data;

    c->ended++;
    calls_take(c, status, hold);
}

void calls_on_info(lk_status status, lk_info *info, void *data)
{
    calls *c = data;
    size_t seen = 0;

    c->ended++;
    if (status != LK_OK)
        return;
    for (size_t i = 0; i < info->holder_count; i++)
        seen += strlen(info->holders[i]->owner) +
                strlen(info->holders[i]->reason) +
                strlen(info->holders[i]->waits_for);
    for (size_t i = 0; i < info->listed_count; i++)
        seen += strlen(info->waiters[i]->owner);
    if (seen > 0 && info->listed_count > info->waiter_count)
        input_fail("more waiters are listed than there are");
    lk_info_free(info);
}

void calls_on_revoke(lk_status status, int64_t left_ms, void *data)
{
    (void)left_ms;
    calls_on_done(status, data);
}

/* ---- options ------------------------------------------------------------------ */

void calls_options(calls *c, input *in, lk_acquire_options *options)
{
    unsigned bits = input_byte(in);

    *options = (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT};
    if ((bits & 1) != 0)
        options->lease_ms = (uint64_t)NAMED_MS;
    if ((bits & 2) != 0)
        options->cancel = c->cancel;
    if ((bits & 4) != 0)
        options->reason = "for a reason";
    if ((bits & 0x38) == 0x38)
        options->replicas = 1;
}

int64_t calls_wait_ms(input *in)
{
    static const int64_t times[] = {0, 1, 40, 700, 3000, 8000};

    return times[input_below(in, 6)];
}

/* ---- holds -------------------------------------------------------------------- */

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)hold;
    (void)remaining_ms;
    (void)data;
}

static lk_hold *hold_remove(calls *c, size_t at)
{
    lk_hold *hold = c->holds[at];

    c->holds[at] = c->holds[--c->hold_count];
    return hold;
}

static void hold_export(calls *c, size_t at)
{
    char text[LK_EXPORT_SIZE];

    if (lk_hold_export(c->holds[at], text, sizeof(text)) == LK_OK)
        (void)hold_remove(c, at);
}

static void hold_extend(calls *c, lk_hold *hold, bool waits)
{
    enum { EXTENDED_MS = 60000 };

    c->longest_ms = EXTENDED_MS;
    if (waits)
        (void)!lk_hold_extend(hold, EXTENDED_MS);
    else
        calls_began(c,
                    lk_hold_extend_async(hold, EXTENDED_MS, calls_on_done, c));
}

void calls_use(calls *c, input *in)
{
    unsigned what = input_below(in, 8);
    size_t at;

    if (c->hold_count == 0)
        return;
    at = input_byte(in) % c->hold_count;
    hold_check(c, c->holds[at]);
    switch (what) {
    case 0:
    case 1:
        (void)lk_hold_release(hold_remove(c, at));
        break;
    case 2:
        release(c, hold_remove(c, at));
        break;
    case 3:
        hold_export(c, at);
        break;
    case 4:
        calls_began(c,
                    lk_rwlock_downgrade_async(c->holds[at], calls_on_done, c));
        break;
    case 5:
        (void)!lk_hold_on_lost(c->holds[at], 1000, on_lost, c);
        break;
    default:
        hold_extend(c, c->holds[at], what == 6);
        break;
    }
}

/* ---- life --------------------------------------------------------------------- */

void calls_begin(calls *c, host *h)
{
    *c = (calls){.h = h, .longest_ms = WATCHDOG_MS};
    if (lk_cancel_new(&c->cancel, h->client) != LK_OK)
        input_fail("no cancel token");
}

void calls_end(calls *c)
{
    c->h->is_over = true;
    while (c->hold_count > 0)
        release(c, hold_remove(c, 0));
    (void)lk_client_shutdown(c->h->client, 1000);
    host_run_ms(c->h, 3000);
    lk_cancel_free(c->cancel);
    if (c->begun != c->ended)
        input_fail("a call has not ended once");
}
