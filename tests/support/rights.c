/* SPDX-License-Identifier: MIT */
#include "support/rights.h"

#include <stdio.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/thing.h"
#include "support/wait.h"

enum { SETTLE_MS = 20000, SHORT_MS = 500 };

/* True: it succeeded. */
static bool
told(rights_play *p, const char *step, lk_status status, const char *words)
{
    if (status == LK_OK)
        return true;
    if (p->step == NULL) {
        p->step = step;
        p->status = status;
        (void)snprintf(p->words, sizeof(p->words), "%s", words);
    }
    return false;
}

static bool good(rights_play *p, const char *step, lk_status status)
{
    return told(p, step, status, lk_last_error());
}

/* What a call waits for, and where that is seen. */
typedef struct wait {
    server *redis;
    call *call;
} wait;

static void give(rights_play *p, lk_hold *hold)
{
    if (hold != NULL)
        (void)good(p, "release", lk_hold_release(hold));
}

/* Somebody waits in a line of the server's, or the call has ended. */
static bool is_in_line(void *data)
{
    const wait *w = data;

    return atomic_load(&w->call->ends) > 0 ||
           server_integer(w->redis,
                          "EVAL return\t#redis.call('KEYS','*:q') 0") > 0;
}

static void wait_line(rights_play *p, call *c)
{
    wait w = {p->redis, c};

    (void)wait_until(is_in_line, &w, (unsigned)p->how.lease_ms / 4);
}

/* ---- things that are held --------------------------------------------------- */

typedef struct line {
    const thing *seen; /* by the user who may do all */
    call *call;
} line;

/* What waits is seen in the line, or has ended; a siglock has no line. */
static bool has_come(void *data)
{
    const line *l = data;
    lk_info *info = NULL;
    bool waits;

    if (atomic_load(&l->call->ends) > 0 || l->seen->kind == THING_SIGLOCK)
        return true;
    if (thing_info(l->seen, &info) != LK_OK)
        return false;
    waits = info->waiter_count > 0;
    lk_info_free(info);
    return waits;
}

static void hand_over(rights_play *p, const thing *first, const thing *second)
{
    call c = {.data = NULL};
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    thing seen;
    line l = {&seen, &c};

    if (!good(p, "acquire", thing_acquire(first, p->first_ms, &p->how, &hold)))
        return;
    assert_status(thing_new(&seen, first->kind, p->all, p->name), LK_OK);
    if (good(p, "wait",
             thing_acquire_async(second, p->wait_ms, &p->how, call_on_acquire,
                                 &c))) {
        (void)wait_until(has_come, &l, (unsigned)p->how.lease_ms / 4);
        if (good(p, "info", thing_info(first, &info)))
            lk_info_free(info);
        (void)good(p, "extend", lk_hold_extend(hold, p->how.lease_ms));
        give(p, hold);
        if (told(p, "wait", call_wait(&c, NULL), c.words))
            give(p, c.hold);
    } else {
        give(p, hold);
    }
    thing_free(&seen);
}

static void carry(rights_play *p, const thing *first, const thing *second)
{
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL, *again = NULL;

    if (!good(p, "acquire", thing_acquire(first, p->wait_ms, &p->how, &hold)))
        return;
    if (!good(p, "export", lk_hold_export(hold, text, sizeof(text))))
        give(p, hold);
    else if (good(p, "import", thing_import(second, text, &again)))
        give(p, again);
}

/* The second one ends what the first one holds, which then releases in vain. */
static void
end_by_force(rights_play *p, const thing *first, const thing *second)
{
    lk_hold *hold = NULL;

    if (!good(p, "acquire", thing_acquire(first, p->wait_ms, &p->how, &hold)))
        return;
    (void)good(p, "force", thing_force(second, ""));
    (void)lk_hold_release(hold);
}

static void play_thing(rights_play *p, thing_kind kind)
{
    thing first, second;

    assert_status(thing_new(&first, kind, p->a, p->name), LK_OK);
    assert_status(thing_new(&second, kind, p->b, p->name), LK_OK);
    hand_over(p, &first, &second);
    carry(p, &first, &second);
    if (kind == THING_LOCK || kind == THING_FAIRLOCK || kind == THING_RWLOCK)
        end_by_force(p, &first, &second);
    thing_free(&first);
    thing_free(&second);
}

static void settle_thing(rights_play *p, thing_kind kind)
{
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    thing it;

    assert_status(thing_new(&it, kind, p->all, p->name), LK_OK);
    assert_status(thing_acquire(&it, SETTLE_MS, NULL, &hold), LK_OK);
    assert_status(thing_info(&it, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
    thing_free(&it);
}

#define THING_SCENE(name, kind)                                                \
    static void play_##name(rights_play *p)                                    \
    {                                                                          \
        play_thing(p, kind);                                                   \
    }                                                                          \
    static void settle_##name(rights_play *p)                                  \
    {                                                                          \
        settle_thing(p, kind);                                                 \
    }

THING_SCENE(lock, THING_LOCK)
THING_SCENE(fairlock, THING_FAIRLOCK)
THING_SCENE(semaphore, THING_SEMAPHORE)
THING_SCENE(siglock, THING_SIGLOCK)

static void read_and_write(rights_play *p, lk_rwlock *one, lk_rwlock *other)
{
    lk_hold *base = NULL, *reads = NULL, *writes = NULL;

    if (good(p, "read",
             lk_rwlock_acquire_upgradeable(one, p->wait_ms, &p->how, &base)) &&
        good(p, "read",
             lk_rwlock_acquire_read(other, p->wait_ms, &p->how, &reads)))
        give(p, reads);
    if (base != NULL &&
        good(p, "upgrade",
             lk_rwlock_acquire_write(one, p->wait_ms, &p->how, &writes)) &&
        good(p, "downgrade", lk_rwlock_downgrade(writes)))
        (void)good(p, "extend", lk_hold_extend(writes, p->how.lease_ms));
    give(p, writes);
    give(p, base);
}

static void play_rwlock(rights_play *p)
{
    lk_rwlock *one = NULL, *other = NULL;

    play_thing(p, THING_RWLOCK);
    assert_status(lk_rwlock_new(&one, p->a, p->name, NULL), LK_OK);
    assert_status(lk_rwlock_new(&other, p->b, p->name, NULL), LK_OK);
    read_and_write(p, one, other);
    lk_rwlock_free(one);
    lk_rwlock_free(other);
}

static void settle_rwlock(rights_play *p)
{
    settle_thing(p, THING_RWLOCK);
}

/* ---- numbers ------------------------------------------------------------------ */

static void play_plain(rights_play *p)
{
    lk_plain_semaphore *one = NULL, *other = NULL;
    call c = {.data = NULL};
    int64_t number;

    assert_status(lk_plain_semaphore_new(&one, p->a, p->name), LK_OK);
    assert_status(lk_plain_semaphore_new(&other, p->b, p->name), LK_OK);
    if (good(p, "set", lk_plain_semaphore_try_set(one, 1, 0)) &&
        good(p, "acquire", lk_plain_semaphore_acquire(one, 1, 0, NULL)) &&
        good(p, "wait",
             lk_plain_semaphore_acquire_async(other, 1, p->wait_ms, NULL,
                                              call_on_done, &c))) {
        wait_line(p, &c);
        (void)good(p, "release", lk_plain_semaphore_release(one, 1));
        (void)told(p, "wait", call_wait(&c, NULL), c.words);
    }
    (void)good(p, "count", lk_plain_semaphore_count(one, &number));
    (void)good(p, "drain", lk_plain_semaphore_drain(one, &number));
    (void)good(p, "delete", lk_plain_semaphore_delete(other));
    lk_plain_semaphore_free(one);
    lk_plain_semaphore_free(other);
}

static void settle_plain(rights_play *p)
{
    lk_plain_semaphore *it = NULL;

    assert_status(lk_plain_semaphore_new(&it, p->all, p->name), LK_OK);
    (void)!lk_plain_semaphore_delete(it);
    assert_status(lk_plain_semaphore_try_set(it, 1, 0), LK_OK);
    assert_status(lk_plain_semaphore_acquire(it, 1, SETTLE_MS, NULL), LK_OK);
    lk_plain_semaphore_free(it);
}

static void play_latch(rights_play *p)
{
    lk_latch *one = NULL, *other = NULL;
    call c = {.data = NULL};
    uint64_t count;

    assert_status(lk_latch_new(&one, p->a, p->name, NULL), LK_OK);
    assert_status(lk_latch_new(&other, p->b, p->name, NULL), LK_OK);
    if (good(p, "set", lk_latch_try_set_count(one, 1)) &&
        good(p, "wait",
             lk_latch_wait_async(other, p->wait_ms, NULL, call_on_done, &c))) {
        wait_line(p, &c);
        (void)good(p, "count", lk_latch_count(one, &count));
        (void)good(p, "down", lk_latch_count_down(one, 1));
        (void)told(p, "wait", call_wait(&c, NULL), c.words);
    }
    if (good(p, "reset", lk_latch_reset(one, 2)) &&
        good(p, "down", lk_latch_count_down(one, 1))) {
        lk_status status = lk_latch_wait(other, SHORT_MS, NULL);

        /* A busy machine may not even have heard that it waits. */
        if (status == LK_ETIMEDOUT || status == LK_EINDOUBT)
            status = LK_OK;
        (void)good(p, "leave", status);
    }
    (void)good(p, "delete", lk_latch_delete(one));
    (void)good(p, "arrive", lk_latch_arrive(one, 2, "me"));
    lk_latch_free(one);
    lk_latch_free(other);
}

static void settle_latch(rights_play *p)
{
    lk_latch *it = NULL;

    assert_status(lk_latch_new(&it, p->all, p->name, NULL), LK_OK);
    (void)!lk_latch_delete(it);
    assert_status(lk_latch_try_set_count(it, 1), LK_OK);
    assert_status(lk_latch_count_down(it, 1), LK_OK);
    assert_status(lk_latch_wait(it, SETTLE_MS, NULL), LK_OK);
    lk_latch_free(it);
}

/* ---- of others made ------------------------------------------------------------ */

/* The second comes after the first. */
static void succeed(rights_play *p, lk_leader *one, lk_leader *other)
{
    call c = {.data = NULL};
    lk_hold *hold = NULL;

    if (!good(p, "campaign",
              lk_leader_campaign(one, p->wait_ms, &p->how, &hold)))
        return;
    if (good(p, "stand",
             lk_leader_campaign_async(other, p->wait_ms, &p->how,
                                      call_on_acquire, &c))) {
        wait_line(p, &c);
        (void)good(p, "resign", lk_leader_resign(one, hold));
        if (told(p, "stand", call_wait(&c, NULL), c.words))
            give(p, c.hold);
    } else {
        give(p, hold);
    }
}

static void play_leader(rights_play *p)
{
    lk_leader *one = NULL, *other = NULL;
    call c = {.data = NULL};
    lk_hold *hold = NULL;
    lk_info *info = NULL;

    assert_status(lk_leader_new(&one, p->a, p->name, NULL), LK_OK);
    assert_status(lk_leader_new(&other, p->b, p->name, NULL), LK_OK);
    if (good(p, "campaign",
             lk_leader_campaign(one, p->wait_ms, &p->how, &hold)) &&
        good(p, "get", lk_leader_get(other, &info)) &&
        good(p, "observe",
             lk_leader_observe_async(other, lk_leader_term(info), p->wait_ms,
                                     NULL, call_on_info, &c))) {
        (void)good(p, "resign", lk_leader_resign(one, hold));
        (void)told(p, "observe", call_wait(&c, NULL), c.words);
        lk_info_free(c.info);
    } else {
        give(p, hold);
    }
    lk_info_free(info);
    succeed(p, one, other);
    lk_leader_free(one);
    lk_leader_free(other);
}

static void play_stripes(rights_play *p)
{
    lk_stripes *one = NULL, *other = NULL;
    const lk_stripes_options few = {LK_STRIPES_OPTIONS_INIT, .count = 2};
    call c = {.data = NULL};
    lk_hold *hold = NULL;

    assert_status(lk_stripes_new(&one, p->a, p->name, &few), LK_OK);
    assert_status(lk_stripes_new(&other, p->b, p->name, &few), LK_OK);
    if (good(p, "acquire", lk_stripes_acquire(one, "k", 0, &p->how, &hold)) &&
        good(p, "wait",
             lk_stripes_acquire_async(other, "k", p->wait_ms, &p->how,
                                      call_on_acquire, &c))) {
        wait_line(p, &c);
        give(p, hold);
        hold = NULL;
        if (told(p, "wait", call_wait(&c, NULL), c.words))
            give(p, c.hold);
    }
    give(p, hold);
    hold = NULL;
    if (good(p, "acquire",
             lk_stripes_acquire(one, "k", p->wait_ms, &p->how, &hold)))
        give(p, hold);
    lk_stripes_free(one);
    lk_stripes_free(other);
}

static void settle_stripes(rights_play *p)
{
    const lk_stripes_options few = {LK_STRIPES_OPTIONS_INIT, .count = 2};
    lk_stripes *it = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_stripes_new(&it, p->all, p->name, &few), LK_OK);
    assert_status(lk_stripes_acquire(it, "k", SETTLE_MS, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_stripes_free(it);
}

static void play_redlock(rights_play *p)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        .node_timeout_ms = p->how.lease_ms / 4};
    lk_redlock *one = NULL, *other = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_redlock_new(&one, &p->a, 1, p->name, &options), LK_OK);
    assert_status(lk_redlock_new(&other, &p->b, 1, p->name, &options), LK_OK);
    for (int i = 0; i < 2; i++) {
        hold = NULL;
        if (good(p, "acquire", lk_redlock_acquire(one, 0, &p->how, &hold))) {
            (void)good(p, "extend", lk_hold_extend(hold, p->how.lease_ms));
            give(p, hold);
        }
    }
    hold = NULL;
    if (good(p, "acquire",
             lk_redlock_acquire(other, p->wait_ms, &p->how, &hold)))
        give(p, hold);
    lk_redlock_free(one);
    lk_redlock_free(other);
}

static void settle_redlock(rights_play *p)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        .node_timeout_ms = SETTLE_MS};
    lk_redlock *it = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_redlock_new(&it, &p->all, 1, p->name, &options), LK_OK);
    assert_status(lk_redlock_acquire(it, SETTLE_MS, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_redlock_free(it);
}

/* ---- values --------------------------------------------------------------------- */

/* The guard is another's lock: its own rights are not the cell's. */
static void play_cell(rights_play *p)
{
    lk_cell *one = NULL, *other = NULL;
    lk_cell_value *value = NULL;
    uint64_t version = LK_CELL_UNSET;

    assert_status(lk_cell_new(&one, p->a, p->name, NULL), LK_OK);
    assert_status(lk_cell_new(&other, p->b, p->name, NULL), LK_OK);
    (void)good(p, "write",
               lk_cell_write(one, LK_CELL_UNSET, "one", 3, &version));
    if (version != LK_CELL_UNSET)
        (void)good(p, "write", lk_cell_write(one, version, "two", 3, &version));
    if (good(p, "read", lk_cell_read(other, &value)))
        lk_cell_value_free(value);
    if (version != LK_CELL_UNSET)
        (void)good(p, "delete", lk_cell_delete(other, version));
    lk_cell_free(one);
    lk_cell_free(other);
}

static void settle_cell(rights_play *p)
{
    lk_cell *it = NULL;
    lk_cell_value *value = NULL;
    uint64_t version = LK_CELL_UNSET;
    lk_status status;

    assert_status(lk_cell_new(&it, p->all, p->name, NULL), LK_OK);
    status = lk_cell_read(it, &value);
    if (status == LK_OK)
        version = value->version;
    lk_cell_value_free(value);
    assert_status(lk_cell_write(it, version, "two", 3, &version), LK_OK);
    assert_status(lk_cell_delete(it, version), LK_OK);
    lk_cell_free(it);
}

static lk_status compute(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    return lk_flight_ticket_set(ticket, "v", 1);
}

static void fly(rights_play *p, lk_client *client, const char *key)
{
    lk_flight *flight = NULL;
    lk_flight_value *value = NULL;

    assert_status(lk_flight_new(&flight, client, p->name, NULL), LK_OK);
    if (good(p, "do",
             lk_flight_do(flight, key, p->wait_ms, NULL, compute, NULL,
                          &value)))
        lk_flight_value_free(value);
    lk_flight_free(flight);
}

/* What the first one computes while the second waits for it. */
typedef struct landing {
    rights_play *play;
    lk_flight *other;
    call second;
    bool is_asked;
} landing;

static bool is_heard(void *data)
{
    const wait *w = data;

    return atomic_load(&w->call->ends) > 0 ||
           server_integer(w->redis,
                          "EVAL return\t#redis.call('PUBSUB',"
                          "'CHANNELS','latchkey:flight-news:*') 0") > 0;
}

static void compute_itself(lk_flight_ticket *ticket, void *data)
{
    lk_flight_complete(ticket, compute(ticket, data));
}

static void on_landed(lk_status status, lk_flight_value *value, void *data)
{
    lk_flight_value_free(value);
    call_on_done(status, data);
}

static lk_status compute_late(lk_flight_ticket *ticket, void *data)
{
    landing *l = data;
    wait w = {l->play->redis, &l->second};

    l->is_asked =
        good(l->play, "wait",
             lk_flight_do_async(l->other, "m", l->play->wait_ms, NULL,
                                compute_itself, on_landed, &l->second));
    if (l->is_asked)
        (void)wait_until(is_heard, &w, (unsigned)l->play->how.lease_ms / 4);
    return lk_flight_ticket_set(ticket, "v", 1);
}

static void land_for_two(rights_play *p)
{
    landing l = {.play = p};
    lk_flight *flight = NULL;
    lk_flight_value *value = NULL;

    assert_status(lk_flight_new(&flight, p->a, p->name, NULL), LK_OK);
    assert_status(lk_flight_new(&l.other, p->b, p->name, NULL), LK_OK);
    if (good(p, "do",
             lk_flight_do(flight, "m", p->wait_ms, NULL, compute_late, &l,
                          &value)))
        lk_flight_value_free(value);
    if (l.is_asked)
        (void)told(p, "wait", call_wait(&l.second, NULL), l.second.words);
    lk_flight_free(flight);
    lk_flight_free(l.other);
}

static void play_flight(rights_play *p)
{
    fly(p, p->a, "k");
    fly(p, p->b, "k");
    fly(p, p->b, "l");
    land_for_two(p);
}

static void settle_flight(rights_play *p)
{
    lk_flight *flight = NULL;
    lk_flight_value *value = NULL;

    assert_status(lk_flight_new(&flight, p->all, p->name, NULL), LK_OK);
    assert_status(lk_flight_do(flight, "k", SETTLE_MS, NULL, compute, NULL,
                               &value),
                  LK_OK);
    lk_flight_value_free(value);
    lk_flight_free(flight);
}

const rights_scene rights_scenes[] = {
    {"lock", play_lock, settle_lock, false, true},
    {"fairlock", play_fairlock, settle_fairlock, false, true},
    {"leader", play_leader, settle_lock, false, true},
    {"rwlock", play_rwlock, settle_rwlock, false, false},
    {"semaphore", play_semaphore, settle_semaphore, true, false},
    {"plain_semaphore", play_plain, settle_plain, true, false},
    {"latch", play_latch, settle_latch, true, false},
    {"siglock", play_siglock, settle_siglock, false, false},
    {"stripes", play_stripes, settle_stripes, false, false},
    {"redlock", play_redlock, settle_redlock, false, false},
    {"cell", play_cell, settle_cell, true, false},
    {"flight", play_flight, settle_flight, false, false},
};

const unsigned rights_scene_count =
    sizeof(rights_scenes) / sizeof(rights_scenes[0]);
