/* SPDX-License-Identifier: MIT */

/* What programs do with what counts and what is told; see shortage_scene.h. */

#include "support/shortage_scene.h"

/* ---- what counts and what is told -------------------------------------------------- */

void shortage_plain_all_ways(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_plain_semaphore *plain = NULL;
    int64_t number;
    shortage_async a = {.s = s};

    if (client != NULL &&
        shortage_good(s, "plain",
                      lk_plain_semaphore_new(&plain, client, s->name))) {
        (void)shortage_good(s, "set",
                            lk_plain_semaphore_try_set(plain, 1, 5000));
        (void)shortage_good(s, "take",
                            lk_plain_semaphore_acquire(plain, 1, WAIT_MS,
                                                       NULL));
        shortage_begin(&a,
                       lk_plain_semaphore_acquire_async(plain, 1, WAIT_MS, NULL,
                                                        shortage_on_done, &a));
        (void)shortage_good(s, "count",
                            lk_plain_semaphore_count(plain, &number));
        (void)shortage_good(s, "release", lk_plain_semaphore_release(plain, 1));
        shortage_await(&a);
        (void)shortage_good(s, "delete", lk_plain_semaphore_delete(plain));
    }
    lk_plain_semaphore_free(plain);
    shortage_close(s, client);
}

void shortage_latch_all_ways(shortage *s)
{
    const lk_latch_options short_one = {LK_LATCH_OPTIONS_INIT, .ttl_ms = 5000};
    lk_client *client = shortage_open(s);
    lk_latch *latch = NULL;
    lk_status arrived;
    bool is_open;
    uint64_t count;
    shortage_async a = {.s = s};

    if (client != NULL &&
        shortage_good(s, "latch",
                      lk_latch_new(&latch, client, s->name, &short_one))) {
        arrived = lk_latch_arrive(latch, 2, "one");
        if (arrived != LK_EMISMATCH || !s->is_left)
            (void)shortage_good(s, "arrive", arrived);
        (void)shortage_good(s, "count", lk_latch_count(latch, &count));
        (void)shortage_good(s, "leave", lk_latch_leave(latch, "one", &is_open));
        s->is_left = !shortage_good(s, "reset", lk_latch_reset(latch, 1));
        shortage_begin(&a, lk_latch_wait_async(latch, WAIT_MS, NULL,
                                               shortage_on_done, &a));
        (void)shortage_good(s, "down", lk_latch_count_down(latch, 1));
        shortage_await(&a);
        if (!shortage_good(s, "delete", lk_latch_delete(latch)))
            s->is_left = true;
    }
    lk_latch_free(latch);
    shortage_close(s, client);
}

static lk_status
change(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    (void)old;
    (void)data;
    return lk_cell_draft_set(draft, "changed", 7);
}

void shortage_cell_all_ways(shortage *s)
{
    const lk_cell_options short_one = {LK_CELL_OPTIONS_INIT, .ttl_ms = 5000};
    lk_client *client = shortage_open(s);
    lk_cell *cell = NULL;
    lk_cell_value *value = NULL;
    uint64_t version;

    if (client != NULL &&
        shortage_good(s, "cell",
                      lk_cell_new(&cell, client, s->name, &short_one))) {
        (void)shortage_good(s, "write",
                            lk_cell_write(cell, LK_CELL_ANY, "value", 5,
                                          &version));
        if (shortage_good(s, "read", lk_cell_read(cell, &value)))
            lk_cell_value_free(value);
        (void)shortage_good(s, "update",
                            lk_cell_update(cell, NULL, change, NULL, &version));
    }
    lk_cell_free(cell);
    shortage_close(s, client);
}

void shortage_leader_all_ways(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_leader *leader = NULL;
    lk_leader_watch *watch = NULL;
    lk_info *info = NULL;
    lk_hold *hold = NULL;

    if (client != NULL &&
        shortage_good(s, "leader",
                      lk_leader_new(&leader, client, s->name, NULL))) {
        (void)shortage_good(s, "watch",
                            lk_leader_watch_new(&watch, leader,
                                                shortage_on_leader, NULL));
        (void)shortage_held(s, "campaign",
                            lk_leader_campaign(leader, WAIT_MS, NULL, &hold),
                            &hold);
        if (shortage_good(s, "observe",
                          lk_leader_observe(leader, 0, WAIT_MS, NULL, &info)))
            lk_info_free(info);
        if (hold != NULL)
            (void)shortage_good(s, "resign", lk_leader_resign(leader, hold));
    }
    lk_leader_watch_free(watch);
    lk_leader_free(leader);
    shortage_close(s, client);
}

static lk_status compute(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    return lk_flight_ticket_set(ticket, "value", 5);
}

void shortage_flight_all_ways(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_flight *flight = NULL;
    lk_flight_value *value = NULL;

    if (client != NULL &&
        shortage_good(s, "flight",
                      lk_flight_new(&flight, client, s->name, NULL))) {
        for (int i = 0; i < 2; i++) {
            if (shortage_good(s, "do",
                              lk_flight_do(flight, "k", WAIT_MS, NULL, compute,
                                           NULL, &value)))
                lk_flight_value_free(value);
        }
    }
    lk_flight_free(flight);
    shortage_close(s, client);
}
