/* SPDX-License-Identifier: MIT */

#include "things.h"

static void must(lk_status status)
{
    if (status != LK_OK)
        input_fail(lk_last_error());
}

void things_new(things *t, calls *c)
{
    lk_client *client = c->h->client;
    const lk_lock_options spins = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};
    const lk_semaphore_options five = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 5};

    *t = (things){.calls = c};
    must(lk_lock_new(&t->lock, client, "n", NULL));
    must(lk_lock_new(&t->spin, client, "n", &spins));
    must(lk_fairlock_new(&t->fairlock, client, "n", NULL));
    must(lk_rwlock_new(&t->rwlock, client, "rw", NULL));
    must(lk_semaphore_new(&t->semaphore, client, "n", &five));
    must(lk_plain_semaphore_new(&t->plain, client, "n"));
    must(lk_latch_new(&t->latch, client, "n", NULL));
    must(lk_siglock_new(&t->siglock, client, "n", NULL));
    must(lk_cell_new(&t->cell, client, "n", NULL));
    must(lk_leader_new(&t->leader, client, "n", NULL));
    must(lk_flight_new(&t->flight, client, "n", NULL));
    must(lk_redlock_new(&t->redlock, &client, 1, "n", NULL));
    must(lk_stripes_new(&t->stripes, client, "n", NULL));
    must(lk_multilock_new(&t->multilock));
    must(lk_multilock_add_lock(t->multilock, t->lock));
    must(lk_multilock_add_read(t->multilock, t->rwlock));
}

void things_free(things *t)
{
    lk_multilock_free(t->multilock);
    lk_stripes_free(t->stripes);
    lk_redlock_free(t->redlock);
    lk_flight_free(t->flight);
    lk_leader_free(t->leader);
    lk_cell_free(t->cell);
    lk_siglock_free(t->siglock);
    lk_latch_free(t->latch);
    lk_plain_semaphore_free(t->plain);
    lk_semaphore_free(t->semaphore);
    lk_rwlock_free(t->rwlock);
    lk_fairlock_free(t->fairlock);
    lk_lock_free(t->spin);
    lk_lock_free(t->lock);
}

/* ---- acquires ----------------------------------------------------------------- */

static void acquire_waiting(things *t, unsigned which, int64_t wait_ms,
                            const lk_acquire_options *o)
{
    lk_hold *hold = NULL;
    lk_status status = LK_OK;

    if (which == 0)
        status = lk_lock_acquire(t->lock, wait_ms, o, &hold);
    else if (which == 1)
        status = lk_fairlock_acquire(t->fairlock, wait_ms, o, &hold);
    else if (which == 2)
        status = lk_rwlock_acquire_write(t->rwlock, wait_ms, o, &hold);
    else
        status = lk_semaphore_acquire(t->semaphore, 2, wait_ms, o, &hold);
    calls_take(t->calls, status, hold);
}

static lk_status acquire_plain(things *t, unsigned which, int64_t wait_ms,
                               const lk_acquire_options *o)
{
    calls *c = t->calls;

    switch (which) {
    case 0:
        return lk_lock_acquire_async(t->lock, wait_ms, o, calls_on_acquire, c);
    case 1:
        return lk_lock_acquire_async(t->spin, wait_ms, o, calls_on_acquire, c);
    case 2:
        return lk_fairlock_acquire_async(t->fairlock, wait_ms, o,
                                         calls_on_acquire, c);
    case 3:
        return lk_rwlock_acquire_read_async(t->rwlock, wait_ms, o,
                                            calls_on_acquire, c);
    case 4:
        return lk_rwlock_acquire_upgradeable_async(t->rwlock, wait_ms, o,
                                                   calls_on_acquire, c);
    case 5:
        return lk_rwlock_acquire_write_async(t->rwlock, wait_ms, o,
                                             calls_on_acquire, c);
    default:
        return lk_semaphore_acquire_async(t->semaphore, 2, wait_ms, o,
                                          calls_on_acquire, c);
    }
}

static lk_status acquire_more(things *t, unsigned which, int64_t wait_ms,
                              const lk_acquire_options *o)
{
    static const char *const keys[] = {"a", "b", "c"};
    calls *c = t->calls;

    switch (which) {
    case 0:
        return lk_siglock_acquire_async(t->siglock, wait_ms, o,
                                        calls_on_acquire, c);
    case 1:
        return lk_leader_campaign_async(t->leader, wait_ms, o, calls_on_acquire,
                                        c);
    case 2:
        return lk_multilock_acquire_async(t->multilock, wait_ms, o,
                                          calls_on_acquire, c);
    case 3:
        return lk_redlock_acquire_async(t->redlock, wait_ms, o,
                                        calls_on_acquire, c);
    case 4:
        return lk_stripes_acquire_many_async(t->stripes, keys, 3, wait_ms, o,
                                             calls_on_acquire, c);
    case 5:
        return lk_plain_semaphore_acquire_async(t->plain, 2, wait_ms, o,
                                                calls_on_done, c);
    default:
        return lk_latch_wait_async(t->latch, wait_ms, o, calls_on_done, c);
    }
}

void things_acquire(things *t, input *in)
{
    unsigned which = input_below(in, 18);
    lk_acquire_options options;
    int64_t wait_ms = calls_wait_ms(in);

    calls_options(t->calls, in, &options);
    if (which < 7)
        calls_began(t->calls, acquire_plain(t, which, wait_ms, &options));
    else if (which < 14)
        calls_began(t->calls, acquire_more(t, which - 7, wait_ms, &options));
    else
        acquire_waiting(t, which - 14, wait_ms, &options);
}

/* ---- the other calls ----------------------------------------------------------- */

static void on_bool(lk_status status, bool is, void *data)
{
    (void)is;
    calls_on_done(status, data);
}

static void on_count(lk_status status, uint64_t count, void *data)
{
    (void)count;
    calls_on_done(status, data);
}

static void
on_free(lk_status status, uint64_t permits, int64_t left, void *data)
{
    (void)permits;
    (void)left;
    calls_on_done(status, data);
}

static void on_number(lk_status status, int64_t number, void *data)
{
    (void)number;
    calls_on_done(status, data);
}

static void on_state(lk_status status, lk_rwlock_state state, void *data)
{
    if (status == LK_OK && state > LK_RWLOCK_WRITE)
        input_fail("a state that there is not");
    calls_on_done(status, data);
}

static void on_cell(lk_status status, lk_cell_value *value, void *data)
{
    if (status == LK_OK && ((const char *)value->bytes)[value->size] != '\0')
        input_fail("no end behind a value");
    if (status == LK_OK)
        lk_cell_value_free(value);
    calls_on_done(status, data);
}

static lk_status
change(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    (void)data;
    return lk_cell_draft_set(draft, "new", old == NULL ? 3 : 2);
}

static void start(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    if (lk_flight_ticket_set(ticket, "own", 3) == LK_OK)
        lk_flight_complete(ticket, LK_OK);
    else
        lk_flight_complete(ticket, LK_ENOMEM);
}

static void on_flight(lk_status status, lk_flight_value *value, void *data)
{
    if (status == LK_OK && ((const char *)value->bytes)[value->size] != '\0')
        input_fail("no end behind a value");
    lk_flight_value_free(value);
    calls_on_done(status, data);
}

static lk_status ask_info(things *t, unsigned which)
{
    calls *c = t->calls;

    switch (which) {
    case 0:
        return lk_lock_info_async(t->lock, calls_on_info, c);
    case 1:
        return lk_fairlock_info_async(t->fairlock, calls_on_info, c);
    case 2:
        return lk_rwlock_info_async(t->rwlock, calls_on_info, c);
    case 3:
        return lk_semaphore_info_async(t->semaphore, calls_on_info, c);
    case 4:
        return lk_plain_semaphore_info_async(t->plain, calls_on_info, c);
    case 5:
        return lk_latch_info_async(t->latch, calls_on_info, c);
    case 6:
        return lk_siglock_info_async(t->siglock, calls_on_info, c);
    case 7:
        return lk_leader_get_async(t->leader, calls_on_info, c);
    default:
        return lk_leader_observe_async(t->leader, 0, 3000, NULL, calls_on_info,
                                       c);
    }
}

static lk_status ask_state(things *t, unsigned which)
{
    calls *c = t->calls;

    switch (which) {
    case 0:
        return lk_lock_is_locked_async(t->lock, on_bool, c);
    case 1:
        return lk_siglock_is_locked_async(t->siglock, on_bool, c);
    case 2:
        return lk_rwlock_state_get_async(t->rwlock, on_state, c);
    case 3:
        return lk_semaphore_count_async(t->semaphore, on_free, c);
    case 4:
        return lk_plain_semaphore_count_async(t->plain, on_number, c);
    case 5:
        return lk_latch_count_async(t->latch, on_count, c);
    default:
        return lk_cell_read_async(t->cell, on_cell, c);
    }
}

static lk_status operate(things *t, unsigned which)
{
    calls *c = t->calls;

    switch (which) {
    case 0:
        return lk_lock_force_release_async(t->lock, calls_on_done, c);
    case 1:
        return lk_rwlock_force_release_of_async(t->rwlock, "x:1", calls_on_done,
                                                c);
    case 2:
        return lk_lock_revoke_async(t->lock, "x:1", calls_on_revoke, c);
    case 3:
        return lk_semaphore_resize_async(t->semaphore, 9, calls_on_done, c);
    case 4:
        return lk_siglock_force_release_async(t->siglock, calls_on_done, c);
    case 5:
        return lk_semaphore_force_release_async(t->semaphore, "x:1",
                                                calls_on_done, c);
    default:
        return lk_fairlock_revoke_async(t->fairlock, "x:1", calls_on_revoke, c);
    }
}

static lk_status change_latch(things *t, unsigned which)
{
    calls *c = t->calls;

    switch (which) {
    case 0:
        return lk_latch_try_set_count_async(t->latch, 3, calls_on_done, c);
    case 1:
        return lk_latch_count_down_async(t->latch, 1, calls_on_done, c);
    case 2:
        return lk_latch_arrive_async(t->latch, 3, "me", calls_on_done, c);
    case 3:
        return lk_latch_leave_async(t->latch, "me", on_bool, c);
    case 4:
        return lk_latch_reset_async(t->latch, 3, calls_on_done, c);
    default:
        return lk_latch_delete_async(t->latch, calls_on_done, c);
    }
}

static lk_status change_plain(things *t, unsigned which)
{
    calls *c = t->calls;

    switch (which) {
    case 0:
        return lk_plain_semaphore_release_async(t->plain, 2, calls_on_done, c);
    case 1:
        return lk_plain_semaphore_try_set_async(t->plain, 2, 0, calls_on_done,
                                                c);
    case 2:
        return lk_plain_semaphore_add_async(t->plain, -1, calls_on_done, c);
    case 3:
        return lk_plain_semaphore_drain_async(t->plain, on_number, c);
    default:
        return lk_plain_semaphore_delete_async(t->plain, calls_on_done, c);
    }
}

static lk_status change_cell(things *t, unsigned which)
{
    calls *c = t->calls;

    switch (which) {
    case 0:
        return lk_cell_write_async(t->cell, 7, "v", 1, on_count, c);
    case 1:
        return lk_cell_delete_async(t->cell, 7, calls_on_done, c);
    case 2:
        return lk_cell_update_async(t->cell, NULL, change, on_count, c);
    default:
        return lk_flight_do_async(t->flight, "k", 3000, NULL, start, on_flight,
                                  c);
    }
}

void things_call(things *t, input *in)
{
    unsigned family = input_below(in, 8);
    unsigned which = input_byte(in);

    if (family == 0)
        calls_began(t->calls, ask_info(t, which % 9));
    else if (family == 1)
        calls_began(t->calls, ask_state(t, which % 7));
    else if (family == 2)
        calls_began(t->calls, operate(t, which % 7));
    else if (family == 3)
        calls_began(t->calls, change_latch(t, which % 6));
    else if (family == 4)
        calls_began(t->calls, change_plain(t, which % 5));
    else if (family == 5)
        calls_began(t->calls, change_cell(t, which % 4));
    else
        things_acquire(t, in);
}

lk_status things_import(things *t, unsigned kind, const char *text,
                        const lk_acquire_options *options, lk_hold **ret_hold)
{
    switch (kind) {
    case 0:
        return lk_lock_import(t->lock, text, options, ret_hold);
    case 1:
        return lk_fairlock_import(t->fairlock, text, options, ret_hold);
    case 2:
        return lk_rwlock_import(t->rwlock, text, options, ret_hold);
    case 3:
        return lk_semaphore_import(t->semaphore, text, options, ret_hold);
    default:
        return lk_siglock_import(t->siglock, text, options, ret_hold);
    }
}
