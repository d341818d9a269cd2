/* SPDX-License-Identifier: MIT */

/* What must hold whatever a server answers. */

#include "support/twisted_scenes.h"

enum { WAIT_MS = 20000 };

/* ---- what must hold --------------------------------------------------------------- */

/* With words; and not the fault of whoever called, unless it was told what is
   not so. */
bool twisted_good(twisted *t, const char *what, lk_status status)
{
    static const lk_status never[] = {LK_EINVAL,    LK_ENOMEM, LK_ENOTSUP,
                                      LK_EURL,      LK_EFULL,  LK_EAUTH,
                                      LK_ECALLBACK, LK_EFORKED};

    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
        if (status == never[i] && !t->has_lied)
            twisted_wrong(t, what, status);
    }
    if (status != LK_OK && lk_last_error()[0] == '\0')
        twisted_wrong(t, "no words", status);
    return status == LK_OK;
}

void twisted_in_time(twisted *t, const char *what, uint64_t began,
                     uint64_t wait_ms)
{
    if (t->schedule.now > began + (wait_ms + TWISTED_LATE_MS) * SIM_MS)
        twisted_wrong(t, what, LK_ETIMEDOUT);
}

/* Whoever holds it is alone: the honest client is not given it. */
static void see_alone(twisted *t, thing_kind kind)
{
    lk_hold *rival = NULL;
    thing other;

    if (thing_new(&other, kind, t->honest, "n") != LK_OK)
        twisted_wrong(t, "no handle", LK_OK);
    else if (thing_acquire(&other, 0, NULL, &rival) == LK_OK) {
        twisted_wrong(t, "a hold that was not granted", LK_OK);
        (void)lk_hold_release(rival);
    }
    thing_free(&other);
}

bool twisted_had(twisted *t, const char *what, thing_kind kind,
                 lk_status status, lk_hold *const *hold, uint64_t most_ms)
{
    if (twisted_good(t, what, status) != (*hold != NULL))
        twisted_wrong(t, "a hold that is none", status);
    if (*hold == NULL)
        return false;
    if (lk_hold_remaining_ms(*hold) > most_ms)
        twisted_wrong(t, "a hold that lasts too long", status);
    if (kind != THING_KINDS && !t->has_lied && lk_hold_check(*hold) == LK_OK)
        see_alone(t, kind);
    return true;
}

void twisted_give(twisted *t, lk_hold *hold)
{
    uint64_t began = t->schedule.now;

    if (hold == NULL)
        return;
    (void)twisted_good(t, "release", lk_hold_release(hold));
    twisted_in_time(t, "release", began, 0);
}

void twisted_see_free(twisted *t, thing_kind kind)
{
    lk_hold *hold = NULL;
    thing other;
    lk_status status = thing_new(&other, kind, t->honest, "n");

    if (status == LK_OK)
        status = thing_acquire(&other, WAIT_MS, NULL, &hold);
    if (status != LK_OK)
        twisted_wrong(t, "the name is not free", status);
    if (hold != NULL)
        (void)lk_hold_release(hold);
    thing_free(&other);
}

/* ---- calls that do not wait -------------------------------------------------------- */

void twisted_on_done(lk_status status, void *data)
{
    ((twisted *)data)->ended++;
    (void)twisted_good(data, "callback", status);
}

void twisted_begun(twisted *t, lk_status status)
{
    if (twisted_good(t, "async call", status))
        t->begun++;
}
