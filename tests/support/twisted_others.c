/* SPDX-License-Identifier: MIT */

/* What programs do with the primitives that are of one kind. */

#include "support/twisted_scenes.h"

enum { LEASE_MS = 30000, WAIT_MS = 20000, SHORT_MS = 200 };

/* ---- other primitives -------------------------------------------------------------- */

static void read_and_write(twisted *t, thing_kind kind)
{
    lk_rwlock *rwlock = NULL;
    lk_hold *base = NULL, *hold = NULL;
    lk_rwlock_state state;

    (void)kind;
    (void)twisted_good(t, "new", lk_rwlock_new(&rwlock, t->client, "n", NULL));
    if (twisted_had(t, "read", THING_RWLOCK,
                    lk_rwlock_acquire_read(rwlock, SHORT_MS, NULL, &hold),
                    &hold, LEASE_MS))
        twisted_give(t, hold);
    (void)twisted_had(t, "upgradeable", THING_RWLOCK,
                      lk_rwlock_acquire_upgradeable(rwlock, SHORT_MS, NULL,
                                                    &base),
                      &base, LEASE_MS);
    hold = NULL;
    if (base != NULL)
        (void)twisted_had(t, "upgrade", THING_RWLOCK,
                          lk_rwlock_acquire_write(rwlock, SHORT_MS, NULL,
                                                  &hold),
                          &hold, LEASE_MS);
    if (twisted_good(t, "state", lk_rwlock_state_get(rwlock, &state)) &&
        state > LK_RWLOCK_WRITE)
        twisted_wrong(t, "a state that there is not", LK_OK);
    twisted_give(t, hold);
    twisted_give(t, base);
    hold = NULL;
    if (twisted_had(t, "write", THING_RWLOCK,
                    lk_rwlock_acquire_write(rwlock, SHORT_MS, NULL, &hold),
                    &hold, LEASE_MS))
        (void)twisted_good(t, "downgrade", lk_rwlock_downgrade(hold));
    twisted_run_ms(t, LEASE_MS / 2);
    twisted_give(t, hold);
    lk_rwlock_free(rwlock);
}

static void counted(twisted *t, thing_kind kind)
{
    const lk_semaphore_options one = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 1};
    lk_semaphore *semaphore = NULL;
    uint64_t permits;
    int64_t left;

    (void)kind;
    (void)twisted_good(t, "new",
                       lk_semaphore_new(&semaphore, t->client, "n", &one));
    (void)twisted_good(t, "resize", lk_semaphore_resize(semaphore, 1));
    (void)twisted_good(t, "count",
                       lk_semaphore_count(semaphore, &permits, &left));
    lk_semaphore_free(semaphore);
}

static void plain(twisted *t, thing_kind kind)
{
    lk_plain_semaphore *plain = NULL;
    lk_info *info = NULL;
    int64_t number;

    (void)kind;
    t->also = (twisted_plan){.script = "plain_add",
                             .number = 1,
                             .how = {2, TWIST_ONE}};
    (void)twisted_good(t, "new",
                       lk_plain_semaphore_new(&plain, t->client, "p"));
    (void)twisted_good(t, "set", lk_plain_semaphore_try_set(plain, 1, 0));
    (void)twisted_good(t, "acquire",
                       lk_plain_semaphore_acquire(plain, 1, SHORT_MS, NULL));
    (void)twisted_good(t, "acquire",
                       lk_plain_semaphore_acquire(plain, 1, SHORT_MS, NULL));
    twisted_begun(t, lk_plain_semaphore_acquire_async(plain, 1, WAIT_MS, NULL,
                                                      twisted_on_done, t));
    twisted_run_ms(t, WAIT_MS / 2);
    (void)twisted_good(t, "count", lk_plain_semaphore_count(plain, &number));
    if (twisted_good(t, "info", lk_plain_semaphore_info(plain, &info)))
        lk_info_free(info);
    (void)twisted_good(t, "release", lk_plain_semaphore_release(plain, 1));
    twisted_run_ms(t, WAIT_MS + TWISTED_LATE_MS);
    (void)twisted_good(t, "add", lk_plain_semaphore_add(plain, 3));
    (void)twisted_good(t, "drain", lk_plain_semaphore_drain(plain, &number));
    (void)twisted_good(t, "delete", lk_plain_semaphore_delete(plain));
    (void)twisted_good(t, "forget", lk_forget(t->client, "p"));
    lk_plain_semaphore_free(plain);
}

static void latch_counted(twisted *t, lk_latch *latch)
{
    uint64_t count;
    lk_info *info = NULL;

    (void)twisted_good(t, "set", lk_latch_try_set_count(latch, 2));
    (void)twisted_good(t, "count", lk_latch_count(latch, &count));
    (void)twisted_good(t, "wait", lk_latch_wait(latch, SHORT_MS, NULL));
    twisted_begun(t, lk_latch_wait_async(latch, WAIT_MS, NULL, twisted_on_done,
                                         t));
    twisted_run_ms(t, WAIT_MS / 2);
    if (twisted_good(t, "info", lk_latch_info(latch, &info)))
        lk_info_free(info);
    (void)twisted_good(t, "down", lk_latch_count_down(latch, 2));
    twisted_run_ms(t, WAIT_MS + TWISTED_LATE_MS);
    (void)twisted_good(t, "reset", lk_latch_reset(latch, 3));
    (void)twisted_good(t, "delete", lk_latch_delete(latch));
    (void)twisted_good(t, "forget", lk_forget(t->client, "la"));
}

static void latched(twisted *t, thing_kind kind)
{
    lk_latch *latch = NULL;
    bool is_open;

    (void)kind;
    (void)twisted_good(t, "new", lk_latch_new(&latch, t->client, "la", NULL));
    latch_counted(t, latch);
    (void)twisted_good(t, "arrive", lk_latch_arrive(latch, 2, "me"));
    (void)twisted_good(t, "leave", lk_latch_leave(latch, "me", &is_open));
    lk_latch_free(latch);
}

static void in_a_cell(twisted *t, thing_kind kind)
{
    lk_cell *cell = NULL;
    lk_cell_value *value = NULL;
    uint64_t version = LK_CELL_UNSET;

    (void)kind;
    (void)twisted_good(t, "new", lk_cell_new(&cell, t->client, "c", NULL));
    (void)twisted_good(t, "write",
                       lk_cell_write(cell, LK_CELL_UNSET, "one", 3, &version));
    if (twisted_good(t, "read", lk_cell_read(cell, &value)) &&
        ((const char *)value->bytes)[value->size] != '\0')
        twisted_wrong(t, "no end behind a value", LK_OK);
    lk_cell_value_free(value);
    if (version != LK_CELL_UNSET)
        (void)twisted_good(t, "delete", lk_cell_delete(cell, version));
    lk_cell_free(cell);
}

static lk_status fly(lk_flight_ticket *ticket, void *data)
{
    return *(bool *)data ? lk_flight_ticket_set(ticket, "own", 3) : LK_ESERVER;
}

static void on_flown(lk_status status, lk_flight_value *value, void *data)
{
    lk_flight_value_free(value);
    twisted_on_done(status, data);
}

static void begin_flight(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    lk_flight_complete(ticket, LK_OK);
}

/* Nobody wants any more what this client is to compute. */
static void flown_in_vain(twisted *t, lk_flight *flight)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};

    (void)twisted_good(t, "cancel", lk_cancel_new(&options.cancel, t->client));
    twisted_begun(t, lk_flight_do_async(flight, "m", WAIT_MS, &options,
                                        begin_flight, on_flown, t));
    twisted_run_ms(t, 1);
    lk_cancel_fire(options.cancel);
    twisted_run_ms(t, WAIT_MS + TWISTED_LATE_MS);
    lk_cancel_free(options.cancel);
}

static void flown(twisted *t, thing_kind kind)
{
    lk_flight *flight = NULL;

    (void)kind;
    (void)twisted_good(t, "new", lk_flight_new(&flight, t->client, "f", NULL));
    for (int i = 0; i < 2; i++) {
        lk_flight_value *value = NULL;
        bool lands = i == 0;

        if (twisted_good(t, "do",
                         lk_flight_do(flight, lands ? "k" : "l", WAIT_MS, NULL,
                                      fly, &lands, &value)) &&
            ((const char *)value->bytes)[value->size] != '\0')
            twisted_wrong(t, "no end behind a value", LK_OK);
        lk_flight_value_free(value);
    }
    flown_in_vain(t, flight);
    lk_flight_free(flight);
}

static void led(twisted *t, thing_kind kind)
{
    lk_leader *leader = NULL;
    lk_hold *hold = NULL;
    lk_info *info = NULL;

    (void)kind;
    (void)twisted_good(t, "new", lk_leader_new(&leader, t->client, "n", NULL));
    (void)twisted_had(t, "campaign", THING_LOCK,
                      lk_leader_campaign(leader, SHORT_MS, NULL, &hold), &hold,
                      LEASE_MS);
    if (twisted_good(t, "get", lk_leader_get(leader, &info)))
        lk_info_free(info);
    info = NULL;
    if (twisted_good(t, "observe",
                     lk_leader_observe(leader, 1, SHORT_MS, NULL, &info)))
        lk_info_free(info);
    if (hold != NULL)
        (void)twisted_good(t, "resign", lk_leader_resign(leader, hold));
    lk_leader_free(leader);
}

static void voted(twisted *t, thing_kind kind)
{
    lk_redlock *redlock = NULL;
    lk_hold *hold = NULL;

    (void)kind;
    (void)twisted_good(t, "new",
                       lk_redlock_new(&redlock, &t->client, 1, "r", NULL));
    (void)twisted_had(t, "acquire", THING_KINDS,
                      lk_redlock_acquire(redlock, SHORT_MS, NULL, &hold), &hold,
                      LEASE_MS);
    if (hold != NULL) {
        twisted_run_ms(t, LEASE_MS / 2);
        (void)twisted_good(t, "extend", lk_hold_extend(hold, LEASE_MS));
    }
    twisted_give(t, hold);
    lk_redlock_free(redlock);
}

const twisted_scene twisted_others[] = {
    {"read and write", read_and_write},
    {"counted", counted},
    {"plain", plain},
    {"latched", latched},
    {"in a cell", in_a_cell},
    {"flown", flown},
    {"led", led},
    {"voted", voted},
};

const unsigned twisted_other_count =
    sizeof(twisted_others) / sizeof(twisted_others[0]);
