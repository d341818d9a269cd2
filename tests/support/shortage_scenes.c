/* SPDX-License-Identifier: MIT */

/* What programs do. A step whose beginning failed is left out. */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/shortage.h"
#include "support/wait.h"

enum { WAIT_MS = 300, LONGER_MS = 600, LEASE_MS = 1000, END_MS = 20000 };

/* ---- what must hold ------------------------------------------------------------- */

static void wrong(shortage *s, const char *what, lk_status status)
{
    if (s->wrong[0] == '\0')
        (void)snprintf(s->wrong, sizeof(s->wrong), "%s: %s: %.100s", what,
                       lk_status_name(status), lk_last_error());
}

/* What is short here, or what comes of it at the server. */
static bool is_answer(lk_status status)
{
    static const lk_status answers[] = {LK_OK,        LK_ENOMEM,   LK_EOFFLINE,
                                        LK_ETIMEDOUT, LK_EINDOUBT, LK_ELOST,
                                        LK_EBUSY,     LK_ECLOSED,  LK_ECANCELED,
                                        LK_ENOTHELD,  LK_EUNSET,   LK_EALREADY,
                                        LK_EQUORUM,   LK_EGONE};

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (status == answers[i])
            return true;
    }
    return false;
}

/* Whether it went well; with words if it did not. */
static bool is_good(shortage *s, const char *what, lk_status status)
{
    if (!is_answer(status))
        wrong(s, what, status);
    if (status != LK_OK && lk_last_error()[0] == '\0')
        wrong(s, "no words", status);
    return status == LK_OK;
}

static bool
is_held(shortage *s, const char *what, lk_status status, lk_hold *const *hold)
{
    if (is_good(s, what, status) != (*hold != NULL))
        wrong(s, "a hold that is none", status);
    if (*hold != NULL && lk_hold_remaining_ms(*hold) > LEASE_MS)
        wrong(s, "a hold that lasts too long", status);
    return *hold != NULL;
}

static void give(shortage *s, lk_hold *hold)
{
    if (hold != NULL)
        (void)is_good(s, "release", lk_hold_release(hold));
}

/* ---- calls that do not wait ------------------------------------------------------ */

typedef struct async {
    shortage *s;
    atomic_int begun, ended;
    lk_hold *_Atomic hold;
} async;

static void on_done(lk_status status, void *data)
{
    async *a = data;

    (void)is_good(a->s, "callback", status);
    atomic_fetch_add(&a->ended, 1);
}

static void on_acquire(lk_status status, lk_hold *hold, void *data)
{
    async *a = data;

    (void)is_held(a->s, "async acquire", status, &hold);
    atomic_store(&a->hold, hold);
    atomic_fetch_add(&a->ended, 1);
}

static void on_info(lk_status status, lk_info *info, void *data)
{
    if (status == LK_OK)
        lk_info_free(info);
    on_done(status, data);
}

static void on_leader(lk_status status, const lk_party *leader, void *data)
{
    (void)status;
    (void)leader;
    (void)data;
}

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)hold;
    (void)remaining_ms;
    (void)data;
}

static void begin(async *a, lk_status status)
{
    if (is_good(a->s, "async call", status))
        atomic_fetch_add(&a->begun, 1);
}

static bool has_ended(void *data)
{
    async *a = data;

    return atomic_load(&a->ended) == atomic_load(&a->begun);
}

/* All that were begun, each once. */
static void await(async *a)
{
    if (!wait_until(has_ended, a, END_MS))
        wrong(a->s, "a call has not ended", LK_OK);
}

/* ---- clients --------------------------------------------------------------------- */

/* NULL: it could not be had. */
static lk_client *client_open(shortage *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .connect_timeout_ms = WAIT_MS,
                                       .command_timeout_ms = WAIT_MS,
                                       .offline_ms = WAIT_MS,
                                       .watchdog_ms = LEASE_MS};
    lk_client *client = NULL;
    lk_status status = lk_client_open(&client, s->url, &options);

    if (is_good(s, "open", status) != (client != NULL))
        wrong(s, "a client that is none", status);
    return client;
}

static void client_close(shortage *s, lk_client *client)
{
    if (client == NULL)
        return;
    (void)is_good(s, "shutdown", lk_client_shutdown(client, WAIT_MS));
    lk_client_free(client);
}

static lk_lock *lock_new(shortage *s, lk_client *client)
{
    lk_lock *lock = NULL;

    if (client != NULL)
        (void)is_good(s, "lock", lk_lock_new(&lock, client, s->name, NULL));
    return lock;
}

static lk_hold *lock_take(shortage *s, lk_lock *lock)
{
    lk_hold *hold = NULL;

    if (lock != NULL)
        (void)is_held(s, "acquire", lk_lock_acquire(lock, WAIT_MS, NULL, &hold),
                      &hold);
    return hold;
}

/* ---- the lock -------------------------------------------------------------------- */

static void open_and_close(shortage *s)
{
    lk_client *client = client_open(s);
    lk_client_stats stats = {.size = sizeof(stats)};

    if (client == NULL)
        return;
    (void)is_good(s, "ready", lk_client_wait_ready(client, WAIT_MS));
    (void)is_good(s, "stats", lk_client_stats_get(client, &stats));
    client_close(s, client);
}

/* So often that its caller reads its answers itself. */
static void lock_again_and_again(shortage *s)
{
    lk_client *client = client_open(s);
    lk_lock *lock = lock_new(s, client);

    for (int i = 0; i < 10; i++)
        give(s, lock_take(s, lock));
    lk_lock_free(lock);
    client_close(s, client);
}

static void lock_alone(shortage *s)
{
    lk_client *client = client_open(s);
    lk_lock *lock = lock_new(s, client);
    lk_hold *hold = lock_take(s, lock);
    lk_hold *again = hold != NULL ? lock_take(s, lock) : NULL;

    if (hold != NULL) {
        (void)is_good(s, "on lost", lk_hold_on_lost(hold, 100, on_lost, s));
        (void)is_good(s, "extend", lk_hold_extend(hold, 5000));
        (void)is_good(s, "check", lk_hold_check(hold));
    }
    give(s, again);
    give(s, hold);
    lk_lock_free(lock);
    client_close(s, client);
}

static void lock_handed_over(shortage *s)
{
    lk_client *one = client_open(s), *other = client_open(s);
    lk_lock *lock = lock_new(s, one), *wanted = lock_new(s, other);
    lk_hold *hold = lock_take(s, lock);
    async a = {.s = s};

    if (wanted != NULL) {
        begin(&a,
              lk_lock_acquire_async(wanted, LONGER_MS, NULL, on_acquire, &a));
        (void)is_good(s, "ready", lk_client_wait_ready(other, WAIT_MS));
    }
    give(s, hold);
    await(&a);
    give(s, atomic_load(&a.hold));
    lk_lock_free(wanted);
    lk_lock_free(lock);
    client_close(s, other);
    client_close(s, one);
}

static void lock_passed_on(shortage *s)
{
    lk_client *client = client_open(s);
    lk_lock *lock = lock_new(s, client);
    lk_owner *owner = NULL;
    lk_hold *hold = lock_take(s, lock);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    async a = {.s = s};

    if (lock != NULL && is_good(s, "owner", lk_owner_new(&owner, client))) {
        options.owner = owner;
        begin(&a,
              lk_lock_acquire_async(lock, WAIT_MS, &options, on_acquire, &a));
    }
    give(s, hold);
    await(&a);
    give(s, atomic_load(&a.hold));
    lk_owner_free(owner);
    lk_lock_free(lock);
    client_close(s, client);
}

static void lock_canceled(shortage *s)
{
    lk_client *one = client_open(s), *other = client_open(s);
    lk_lock *lock = lock_new(s, one), *wanted = lock_new(s, other);
    lk_hold *hold = lock_take(s, lock);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    async a = {.s = s};

    if (wanted != NULL && is_good(s, "cancel", lk_cancel_new(&cancel, other))) {
        options.cancel = cancel;
        begin(&a, lk_lock_acquire_async(wanted, LONGER_MS, &options, on_acquire,
                                        &a));
        lk_cancel_fire(cancel);
    }
    await(&a);
    give(s, atomic_load(&a.hold));
    give(s, hold);
    lk_cancel_free(cancel);
    lk_lock_free(wanted);
    lk_lock_free(lock);
    client_close(s, other);
    client_close(s, one);
}

static void lock_exported(shortage *s)
{
    lk_client *one = client_open(s), *other = client_open(s);
    lk_lock *lock = lock_new(s, one), *wanted = lock_new(s, other);
    lk_hold *hold = lock_take(s, lock), *taken = NULL;
    char text[LK_EXPORT_SIZE];

    if (hold != NULL && wanted != NULL &&
        is_good(s, "export", lk_hold_export(hold, text, sizeof(text)))) {
        hold = NULL;
        (void)is_held(s, "import", lk_lock_import(wanted, text, NULL, &taken),
                      &taken);
    }
    give(s, hold);
    give(s, taken);
    lk_lock_free(wanted);
    lk_lock_free(lock);
    client_close(s, other);
    client_close(s, one);
}

static void lock_operated(shortage *s)
{
    lk_client *client = client_open(s);
    lk_lock *lock = lock_new(s, client);
    lk_hold *hold = lock_take(s, lock);
    lk_info *info = NULL;
    bool is_locked;
    async a = {.s = s};

    if (lock != NULL) {
        (void)is_good(s, "is locked", lk_lock_is_locked(lock, &is_locked));
        if (is_good(s, "info", lk_lock_info(lock, &info)))
            lk_info_free(info);
        begin(&a, lk_lock_info_async(lock, on_info, &a));
        begin(&a, lk_lock_force_release_async(lock, on_done, &a));
        await(&a);
    }
    give(s, hold);
    lk_lock_free(lock);
    client_close(s, client);
}

static void lock_spun(shortage *s)
{
    const lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};
    lk_client *client = client_open(s), *other = client_open(s);
    lk_lock *lock = lock_new(s, other), *spin = NULL;
    lk_hold *hold = lock_take(s, lock), *spun = NULL;

    if (client != NULL &&
        is_good(s, "spin", lk_lock_new(&spin, client, s->name, &options)))
        (void)is_held(s, "spin", lk_lock_acquire(spin, 20, NULL, &spun), &spun);
    give(s, spun);
    give(s, hold);
    lk_lock_free(spin);
    lk_lock_free(lock);
    client_close(s, other);
    client_close(s, client);
}

/* ---- other locks ------------------------------------------------------------------ */

static void fairlock_handed_over(shortage *s)
{
    lk_client *client = client_open(s);
    lk_fairlock *lock = NULL;
    lk_owner *owner = NULL;
    lk_hold *hold = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    async a = {.s = s};

    if (client != NULL &&
        is_good(s, "fair", lk_fairlock_new(&lock, client, s->name, NULL)) &&
        is_good(s, "owner", lk_owner_new(&owner, client))) {
        (void)is_held(s, "fair",
                      lk_fairlock_acquire(lock, WAIT_MS, NULL, &hold), &hold);
        options.owner = owner;
        begin(&a, lk_fairlock_acquire_async(lock, LONGER_MS, &options,
                                            on_acquire, &a));
    }
    give(s, hold);
    await(&a);
    give(s, atomic_load(&a.hold));
    lk_owner_free(owner);
    lk_fairlock_free(lock);
    client_close(s, client);
}

static void rwlock_all_ways(shortage *s)
{
    lk_client *client = client_open(s);
    lk_rwlock *rwlock = NULL;
    lk_rwlock_state state;
    lk_hold *base = NULL, *hold = NULL;

    if (client == NULL ||
        !is_good(s, "rwlock", lk_rwlock_new(&rwlock, client, s->name, NULL))) {
        client_close(s, client);
        return;
    }
    if (is_held(s, "upgradeable",
                lk_rwlock_acquire_upgradeable(rwlock, WAIT_MS, NULL, &base),
                &base) &&
        is_held(s, "upgrade",
                lk_rwlock_acquire_write(rwlock, WAIT_MS, NULL, &hold), &hold))
        (void)is_good(s, "state", lk_rwlock_state_get(rwlock, &state));
    give(s, hold);
    give(s, base);
    hold = NULL;
    if (is_held(s, "write",
                lk_rwlock_acquire_write(rwlock, WAIT_MS, NULL, &hold), &hold))
        (void)is_good(s, "downgrade", lk_rwlock_downgrade(hold));
    give(s, hold);
    lk_rwlock_free(rwlock);
    client_close(s, client);
}

static void rwlock_handed_over(shortage *s)
{
    lk_client *client = client_open(s);
    lk_rwlock *rwlock = NULL;
    lk_owner *owner = NULL;
    lk_hold *hold = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    async a = {.s = s};

    if (client != NULL &&
        is_good(s, "rwlock", lk_rwlock_new(&rwlock, client, s->name, NULL)) &&
        is_good(s, "owner", lk_owner_new(&owner, client))) {
        (void)is_held(s, "write",
                      lk_rwlock_acquire_write(rwlock, WAIT_MS, NULL, &hold),
                      &hold);
        options.owner = owner;
        begin(&a, lk_rwlock_acquire_read_async(rwlock, LONGER_MS, &options,
                                               on_acquire, &a));
    }
    give(s, hold);
    await(&a);
    give(s, atomic_load(&a.hold));
    lk_owner_free(owner);
    lk_rwlock_free(rwlock);
    client_close(s, client);
}

static void semaphore_all_ways(shortage *s)
{
    const lk_semaphore_options two = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 2};
    lk_client *client = client_open(s);
    lk_semaphore *semaphore = NULL;
    lk_hold *hold = NULL;
    uint64_t permits;
    int64_t left;
    async a = {.s = s};

    if (client != NULL &&
        is_good(s, "semaphore",
                lk_semaphore_new(&semaphore, client, s->name, &two))) {
        (void)is_held(s, "permits",
                      lk_semaphore_acquire(semaphore, 2, WAIT_MS, NULL, &hold),
                      &hold);
        begin(&a, lk_semaphore_acquire_async(semaphore, 1, LONGER_MS, NULL,
                                             on_acquire, &a));
        (void)is_good(s, "count",
                      lk_semaphore_count(semaphore, &permits, &left));
        (void)is_good(s, "resize", lk_semaphore_resize(semaphore, 2));
    }
    give(s, hold);
    await(&a);
    give(s, atomic_load(&a.hold));
    lk_semaphore_free(semaphore);
    client_close(s, client);
}

static void siglock_handed_over(shortage *s)
{
    lk_client *one = client_open(s), *other = client_open(s);
    lk_siglock *lock = NULL, *wanted = NULL;
    lk_hold *hold = NULL;
    async a = {.s = s};

    if (one != NULL &&
        is_good(s, "siglock", lk_siglock_new(&lock, one, s->name, NULL)))
        (void)is_held(s, "siglock",
                      lk_siglock_acquire(lock, WAIT_MS, NULL, &hold), &hold);
    if (other != NULL &&
        is_good(s, "siglock", lk_siglock_new(&wanted, other, s->name, NULL)))
        begin(&a, lk_siglock_acquire_async(wanted, LONGER_MS, NULL, on_acquire,
                                           &a));
    give(s, hold);
    await(&a);
    give(s, atomic_load(&a.hold));
    lk_siglock_free(wanted);
    lk_siglock_free(lock);
    client_close(s, other);
    client_close(s, one);
}

/* ---- what counts and what is told -------------------------------------------------- */

static void plain_all_ways(shortage *s)
{
    lk_client *client = client_open(s);
    lk_plain_semaphore *plain = NULL;
    int64_t number;
    async a = {.s = s};

    if (client != NULL &&
        is_good(s, "plain", lk_plain_semaphore_new(&plain, client, s->name))) {
        (void)is_good(s, "set", lk_plain_semaphore_try_set(plain, 1, 5000));
        (void)is_good(s, "take",
                      lk_plain_semaphore_acquire(plain, 1, WAIT_MS, NULL));
        begin(&a, lk_plain_semaphore_acquire_async(plain, 1, WAIT_MS, NULL,
                                                   on_done, &a));
        (void)is_good(s, "count", lk_plain_semaphore_count(plain, &number));
        (void)is_good(s, "release", lk_plain_semaphore_release(plain, 1));
        await(&a);
        (void)is_good(s, "delete", lk_plain_semaphore_delete(plain));
    }
    lk_plain_semaphore_free(plain);
    client_close(s, client);
}

static void latch_all_ways(shortage *s)
{
    const lk_latch_options short_one = {LK_LATCH_OPTIONS_INIT, .ttl_ms = 5000};
    lk_client *client = client_open(s);
    lk_latch *latch = NULL;
    bool is_open;
    async a = {.s = s};

    if (client != NULL &&
        is_good(s, "latch",
                lk_latch_new(&latch, client, s->name, &short_one))) {
        (void)is_good(s, "arrive", lk_latch_arrive(latch, 2, "one"));
        (void)is_good(s, "leave", lk_latch_leave(latch, "one", &is_open));
        (void)is_good(s, "reset", lk_latch_reset(latch, 1));
        begin(&a, lk_latch_wait_async(latch, WAIT_MS, NULL, on_done, &a));
        (void)is_good(s, "down", lk_latch_count_down(latch, 1));
        await(&a);
        (void)is_good(s, "delete", lk_latch_delete(latch));
    }
    lk_latch_free(latch);
    client_close(s, client);
}

static lk_status
change(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    (void)old;
    (void)data;
    return lk_cell_draft_set(draft, "changed", 7);
}

static void cell_all_ways(shortage *s)
{
    const lk_cell_options short_one = {LK_CELL_OPTIONS_INIT, .ttl_ms = 5000};
    lk_client *client = client_open(s);
    lk_cell *cell = NULL;
    lk_cell_value *value = NULL;
    uint64_t version;

    if (client != NULL &&
        is_good(s, "cell", lk_cell_new(&cell, client, s->name, &short_one))) {
        (void)is_good(s, "write",
                      lk_cell_write(cell, LK_CELL_ANY, "value", 5, &version));
        if (is_good(s, "read", lk_cell_read(cell, &value)))
            lk_cell_value_free(value);
        (void)is_good(s, "update",
                      lk_cell_update(cell, NULL, change, NULL, &version));
    }
    lk_cell_free(cell);
    client_close(s, client);
}

static void leader_all_ways(shortage *s)
{
    lk_client *client = client_open(s);
    lk_leader *leader = NULL;
    lk_leader_watch *watch = NULL;
    lk_info *info = NULL;
    lk_hold *hold = NULL;

    if (client != NULL &&
        is_good(s, "leader", lk_leader_new(&leader, client, s->name, NULL))) {
        (void)is_good(s, "watch",
                      lk_leader_watch_new(&watch, leader, on_leader, NULL));
        (void)is_held(s, "campaign",
                      lk_leader_campaign(leader, WAIT_MS, NULL, &hold), &hold);
        if (is_good(s, "observe",
                    lk_leader_observe(leader, 0, WAIT_MS, NULL, &info)))
            lk_info_free(info);
        if (hold != NULL)
            (void)is_good(s, "resign", lk_leader_resign(leader, hold));
    }
    lk_leader_watch_free(watch);
    lk_leader_free(leader);
    client_close(s, client);
}

static lk_status compute(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    return lk_flight_ticket_set(ticket, "value", 5);
}

static void flight_all_ways(shortage *s)
{
    lk_client *client = client_open(s);
    lk_flight *flight = NULL;
    lk_flight_value *value = NULL;

    if (client != NULL &&
        is_good(s, "flight", lk_flight_new(&flight, client, s->name, NULL))) {
        for (int i = 0; i < 2; i++) {
            if (is_good(s, "do",
                        lk_flight_do(flight, "k", WAIT_MS, NULL, compute, NULL,
                                     &value)))
                lk_flight_value_free(value);
        }
    }
    lk_flight_free(flight);
    client_close(s, client);
}

/* ---- what is made of others --------------------------------------------------------- */

static void multilock_all_ways(shortage *s)
{
    lk_client *client = client_open(s);
    lk_lock *lock = lock_new(s, client);
    lk_rwlock *rwlock = NULL;
    lk_multilock *multilock = NULL;
    lk_hold *hold = NULL;
    char second[60];

    (void)snprintf(second, sizeof(second), "%.50s-rw", s->name);
    if (lock != NULL &&
        is_good(s, "rwlock", lk_rwlock_new(&rwlock, client, second, NULL)) &&
        is_good(s, "multilock", lk_multilock_new(&multilock)) &&
        is_good(s, "add", lk_multilock_add_lock(multilock, lock)) &&
        is_good(s, "add", lk_multilock_add_read(multilock, rwlock)) &&
        is_held(s, "all", lk_multilock_acquire(multilock, WAIT_MS, NULL, &hold),
                &hold))
        (void)is_good(s, "extend", lk_hold_extend(hold, 5000));
    give(s, hold);
    lk_multilock_free(multilock);
    lk_rwlock_free(rwlock);
    lk_lock_free(lock);
    client_close(s, client);
}

static void redlock_all_ways(shortage *s)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        /* of the extension */
                                        .longest_lease_ms = 5000,
                                        .lease_ms = LEASE_MS, .durable = 1};
    lk_client *client = client_open(s);
    lk_redlock *redlock = NULL;
    lk_hold *hold = NULL;

    if (client != NULL &&
        is_good(s, "redlock",
                lk_redlock_new(&redlock, &client, 1, s->name, &options)) &&
        is_held(s, "token", lk_redlock_acquire(redlock, WAIT_MS, NULL, &hold),
                &hold))
        (void)is_good(s, "extend", lk_hold_extend(hold, 5000));
    give(s, hold);
    lk_redlock_free(redlock);
    client_close(s, client);
}

static void stripes_all_ways(shortage *s)
{
    static const char *const keys[] = {"a", "b", "c"};
    lk_client *client = client_open(s);
    lk_stripes *stripes = NULL;
    lk_hold *hold = NULL;

    if (client != NULL &&
        is_good(s, "stripes", lk_stripes_new(&stripes, client, s->name, NULL)))
        (void)is_held(s, "many",
                      lk_stripes_acquire_many(stripes, keys, 3, WAIT_MS, NULL,
                                              &hold),
                      &hold);
    give(s, hold);
    lk_stripes_free(stripes);
    client_close(s, client);
}

static void inspect_all_ways(shortage *s)
{
    const lk_list_options options = {LK_LIST_OPTIONS_INIT, .pattern = s->name};
    lk_client *client = client_open(s);
    lk_lock *lock = lock_new(s, client);
    lk_hold *hold = lock_take(s, lock);
    lk_listing *listing = NULL;
    lk_health *health = NULL;
    lk_info *info = NULL;
    lk_kind kind;

    if (lock != NULL) {
        if (is_good(s, "list", lk_list(client, WAIT_MS, &options, &listing)))
            lk_listing_free(listing);
        if (is_good(s, "who", lk_who(client, s->name, &kind, &info)))
            lk_info_free(info);
        if (is_good(s, "health", lk_health_check(client, WAIT_MS, &health)))
            lk_health_free(health);
    }
    give(s, hold);
    if (client != NULL)
        (void)is_good(s, "forget", lk_forget(client, s->name));
    lk_lock_free(lock);
    client_close(s, client);
}

const shortage_scene shortage_scenes[] = {
    {"open", open_and_close},
    {"lock", lock_alone},
    {"lock-and-lock", lock_again_and_again},
    {"lock-handed-over", lock_handed_over},
    {"lock-passed-on", lock_passed_on},
    {"lock-canceled", lock_canceled},
    {"lock-exported", lock_exported},
    {"lock-operated", lock_operated},
    {"lock-spun", lock_spun},
    {"fairlock", fairlock_handed_over},
    {"rwlock", rwlock_all_ways},
    {"rwlock-handed-over", rwlock_handed_over},
    {"semaphore", semaphore_all_ways},
    {"siglock", siglock_handed_over},
    {"plain", plain_all_ways},
    {"latch", latch_all_ways},
    {"cell", cell_all_ways},
    {"leader", leader_all_ways},
    {"flight", flight_all_ways},
    {"multilock", multilock_all_ways},
    {"redlock", redlock_all_ways},
    {"stripes", stripes_all_ways},
    {"inspect", inspect_all_ways},
};

const unsigned shortage_scene_count =
    sizeof(shortage_scenes) / sizeof(shortage_scenes[0]);
