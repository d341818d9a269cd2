/* SPDX-License-Identifier: MIT */

/* The public functions of each primitive, behind one form. */

#include "play/art.h"

#include <stdlib.h>

#include "play/errand.h"

/* Of a redlock. No client has a longer lease, see plan.c. */
enum { LONGEST_LEASE_MS = 20000, RETRY_MS = 30 };

/* ---- lock -------------------------------------------------------------------- */

static lk_status lock_make(void **ret_handle, const sim_client *home,
                           const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_lock_new((lk_lock **)ret_handle, home->client, name, NULL);
}

static lk_status spinlock_make(void **ret_handle, const sim_client *home,
                               const char *name, const sim_plan *plan)
{
    lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};

    (void)plan;
    return lk_lock_new((lk_lock **)ret_handle, home->client, name, &options);
}

static void lock_free(void *handle)
{
    lk_lock_free(handle);
}

static lk_status lock_acquire(void *handle, const sim_want *want,
                              const lk_acquire_options *options,
                              lk_acquire_cb cb, void *data)
{
    return lk_lock_acquire_async(handle, want->wait_ms, options, cb, data);
}

static lk_status lock_import(void *handle, const char *text,
                             const lk_acquire_options *options,
                             lk_hold **ret_hold)
{
    return lk_lock_import(handle, text, options, ret_hold);
}

static lk_status
lock_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_lock_revoke_async(handle, owner, cb, data);
}

static lk_status lock_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_lock_force_release_async(handle, cb, data);
}

/* ---- fair lock --------------------------------------------------------------- */

static lk_status fairlock_make(void **ret_handle, const sim_client *home,
                               const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_fairlock_new((lk_fairlock **)ret_handle, home->client, name,
                           NULL);
}

static void fairlock_free(void *handle)
{
    lk_fairlock_free(handle);
}

static lk_status fairlock_acquire(void *handle, const sim_want *want,
                                  const lk_acquire_options *options,
                                  lk_acquire_cb cb, void *data)
{
    return lk_fairlock_acquire_async(handle, want->wait_ms, options, cb, data);
}

static lk_status fairlock_import(void *handle, const char *text,
                                 const lk_acquire_options *options,
                                 lk_hold **ret_hold)
{
    return lk_fairlock_import(handle, text, options, ret_hold);
}

static lk_status
fairlock_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_fairlock_revoke_async(handle, owner, cb, data);
}

static lk_status fairlock_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_fairlock_force_release_async(handle, cb, data);
}

/* ---- election ----------------------------------------------------------------- */

static lk_status leader_make(void **ret_handle, const sim_client *home,
                             const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_leader_new((lk_leader **)ret_handle, home->client, name, NULL);
}

static void leader_free(void *handle)
{
    lk_leader_free(handle);
}

static lk_status leader_acquire(void *handle, const sim_want *want,
                                const lk_acquire_options *options,
                                lk_acquire_cb cb, void *data)
{
    return lk_leader_campaign_async(handle, want->wait_ms, options, cb, data);
}

/* ---- read-write lock ---------------------------------------------------------- */

static lk_status rwlock_make(void **ret_handle, const sim_client *home,
                             const char *name, const sim_plan *plan)
{
    lk_rwlock_options options = {LK_RWLOCK_OPTIONS_INIT,
                                 .order = plan->seed % 3};

    return lk_rwlock_new((lk_rwlock **)ret_handle, home->client, name,
                         &options);
}

static void rwlock_free(void *handle)
{
    lk_rwlock_free(handle);
}

static lk_status rwlock_acquire(void *handle, const sim_want *want,
                                const lk_acquire_options *options,
                                lk_acquire_cb cb, void *data)
{
    if (want->mode == SIM_READ)
        return lk_rwlock_acquire_read_async(handle, want->wait_ms, options, cb,
                                            data);
    if (want->mode == SIM_UPGRADEABLE)
        return lk_rwlock_acquire_upgradeable_async(handle, want->wait_ms,
                                                   options, cb, data);
    return lk_rwlock_acquire_write_async(handle, want->wait_ms, options, cb,
                                         data);
}

static lk_status rwlock_import(void *handle, const char *text,
                               const lk_acquire_options *options,
                               lk_hold **ret_hold)
{
    return lk_rwlock_import(handle, text, options, ret_hold);
}

static lk_status
rwlock_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_rwlock_revoke_async(handle, owner, cb, data);
}

static lk_status rwlock_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_rwlock_force_release_async(handle, cb, data);
}

/* ---- semaphore ----------------------------------------------------------------- */

static lk_status semaphore_make(void **ret_handle, const sim_client *home,
                                const char *name, const sim_plan *plan)
{
    lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                    .permits = plan->permits};

    return lk_semaphore_new((lk_semaphore **)ret_handle, home->client, name,
                            &options);
}

static void semaphore_free(void *handle)
{
    lk_semaphore_free(handle);
}

static lk_status semaphore_acquire(void *handle, const sim_want *want,
                                   const lk_acquire_options *options,
                                   lk_acquire_cb cb, void *data)
{
    return lk_semaphore_acquire_async(handle, want->count, want->wait_ms,
                                      options, cb, data);
}

static lk_status semaphore_import(void *handle, const char *text,
                                  const lk_acquire_options *options,
                                  lk_hold **ret_hold)
{
    return lk_semaphore_import(handle, text, options, ret_hold);
}

static lk_status
semaphore_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_semaphore_revoke_async(handle, owner, cb, data);
}

static lk_status semaphore_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_semaphore_force_release_async(handle, NULL, cb, data);
}

/* ---- siglock ------------------------------------------------------------------- */

static lk_status siglock_make(void **ret_handle, const sim_client *home,
                              const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_siglock_new((lk_siglock **)ret_handle, home->client, name, NULL);
}

static void siglock_free(void *handle)
{
    lk_siglock_free(handle);
}

static lk_status siglock_acquire(void *handle, const sim_want *want,
                                 const lk_acquire_options *options,
                                 lk_acquire_cb cb, void *data)
{
    return lk_siglock_acquire_async(handle, want->wait_ms, options, cb, data);
}

static lk_status siglock_import(void *handle, const char *text,
                                const lk_acquire_options *options,
                                lk_hold **ret_hold)
{
    return lk_siglock_import(handle, text, options, ret_hold);
}

static lk_status
siglock_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_siglock_revoke_async(handle, owner, cb, data);
}

static lk_status siglock_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_siglock_force_release_async(handle, cb, data);
}

/* ---- stripes ------------------------------------------------------------------- */

/* A name is a key; of those of a run each is folded onto another stripe. */
typedef struct sim_striped {
    lk_stripes *stripes;
    const char *key;
} sim_striped;

static lk_status stripes_make(void **ret_handle, const sim_client *home,
                              const char *name, const sim_plan *plan)
{
    sim_striped *striped = sim_alloc(sizeof(*striped));

    (void)plan;
    striped->key = name;
    *ret_handle = striped;
    return lk_stripes_new(&striped->stripes, home->client, "coats", NULL);
}

static void stripes_free(void *handle)
{
    lk_stripes_free(((sim_striped *)handle)->stripes);
    free(handle);
}

static lk_status stripes_acquire(void *handle, const sim_want *want,
                                 const lk_acquire_options *options,
                                 lk_acquire_cb cb, void *data)
{
    const sim_striped *striped = handle;

    return lk_stripes_acquire_async(striped->stripes, striped->key,
                                    want->wait_ms, options, cb, data);
}

/* ---- multilock ------------------------------------------------------------------ */

/* A handle of each sort, and what all multilocks want. */
typedef struct sim_joint {
    lk_multilock *multilock;
    lk_lock *lock;
    lk_fairlock *fairlock;
    lk_rwlock *rwlock;
} sim_joint;

/* The process' client for the server that the i-th member is at. */
static lk_client *
client_for(const sim_client *home, unsigned i, const sim_plan *plan)
{
    return home->first[i % plan->hosts].client;
}

static lk_status members_make(sim_joint *joint, const sim_client *home,
                              const char *name, const sim_plan *plan)
{
    char fair[32], book[32];

    (void)snprintf(fair, sizeof(fair), "fair-%s", name);
    (void)snprintf(book, sizeof(book), "book-%s", name);
    if (lk_multilock_new(&joint->multilock) != LK_OK ||
        lk_lock_new(&joint->lock, client_for(home, 0, plan), name, NULL) !=
            LK_OK ||
        lk_fairlock_new(&joint->fairlock, client_for(home, 1, plan), fair,
                        NULL) != LK_OK ||
        lk_rwlock_new(&joint->rwlock, client_for(home, 2, plan), book, NULL) !=
            LK_OK ||
        lk_multilock_add_lock(joint->multilock, joint->lock) != LK_OK ||
        lk_multilock_add_fairlock(joint->multilock, joint->fairlock) != LK_OK)
        return LK_EINVAL;
    return lk_multilock_add_write(joint->multilock, joint->rwlock);
}

static lk_status multilock_make(void **ret_handle, const sim_client *home,
                                const char *name, const sim_plan *plan)
{
    sim_joint *joint = sim_alloc(sizeof(*joint));

    *ret_handle = joint;
    return members_make(joint, home, name, plan);
}

static void multilock_free(void *handle)
{
    sim_joint *joint = handle;

    lk_multilock_free(joint->multilock);
    lk_lock_free(joint->lock);
    lk_fairlock_free(joint->fairlock);
    lk_rwlock_free(joint->rwlock);
    free(joint);
}

static lk_status multilock_acquire(void *handle, const sim_want *want,
                                   const lk_acquire_options *options,
                                   lk_acquire_cb cb, void *data)
{
    return lk_multilock_acquire_async(((sim_joint *)handle)->multilock,
                                      want->wait_ms, options, cb, data);
}

/* ---- redlock -------------------------------------------------------------------- */

static lk_status redlock_make(void **ret_handle, const sim_client *home,
                              const char *name, const sim_plan *plan)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        .lease_ms =
                                            home->item->as.client.watchdog_ms,
                                        .longest_lease_ms = LONGEST_LEASE_MS,
                                        .node_timeout_ms = SIM_NODE_TIMEOUT_MS,
                                        .retry_ms = RETRY_MS,
                                        .durable = sim_plan_is_durable(plan)};
    lk_client *clients[SIM_HOSTS_MOST];

    for (unsigned host = 0; host < plan->hosts; host++)
        clients[host] = home->first[host].client;
    return lk_redlock_new((lk_redlock **)ret_handle, clients, plan->hosts, name,
                          &options);
}

static void redlock_free(void *handle)
{
    lk_redlock_free(handle);
}

static lk_status redlock_acquire(void *handle, const sim_want *want,
                                 const lk_acquire_options *options,
                                 lk_acquire_cb cb, void *data)
{
    return lk_redlock_acquire_async(handle, want->wait_ms, options, cb, data);
}

/* ---- where nothing is held ------------------------------------------------------ */

static lk_status latch_make(void **ret_handle, const sim_client *home,
                            const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_latch_new((lk_latch **)ret_handle, home->client, name, NULL);
}

static lk_status timed_make(void **ret_handle, const sim_client *home,
                            const char *name, const sim_plan *plan)
{
    const lk_latch_options options = {LK_LATCH_OPTIONS_INIT,
                                      .ttl_ms = 200 + plan->seed * 37 % 1500};

    return lk_latch_new((lk_latch **)ret_handle, home->client, name, &options);
}

static void latch_free(void *handle)
{
    lk_latch_free(handle);
}

static lk_status plain_make(void **ret_handle, const sim_client *home,
                            const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_plain_semaphore_new((lk_plain_semaphore **)ret_handle,
                                  home->client, name);
}

static void plain_free(void *handle)
{
    lk_plain_semaphore_free(handle);
}

static lk_status cell_make(void **ret_handle, const sim_client *home,
                           const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_cell_new((lk_cell **)ret_handle, home->client, name, NULL);
}

static void cell_free(void *handle)
{
    lk_cell_free(handle);
}

static lk_status flight_make(void **ret_handle, const sim_client *home,
                             const char *name, const sim_plan *plan)
{
    const lk_flight_options options = {LK_FLIGHT_OPTIONS_INIT,
                                       .ttl_ms = SIM_FLIGHT_TTL_MS,
                                       .error_ttl_ms = SIM_FLIGHT_TTL_MS / 4,
                                       .lease_ms = SIM_FLIGHT_LEASE_MS};

    (void)plan;
    return lk_flight_new((lk_flight **)ret_handle, home->client, name,
                         &options);
}

static void flight_free(void *handle)
{
    lk_flight_free(handle);
}

/* -------------------------------------------------------------------------------- */

const sim_art sim_arts[SIM_PRIMITIVES] = {
    [SIM_LOCK] = {SIM_OF_LOCK, true, false, lock_make, lock_free, lock_acquire,
                  lock_import, lock_revoke, lock_force, true, NULL},
    [SIM_SPINLOCK] = {SIM_OF_LOCK, true, false, spinlock_make, lock_free,
                      lock_acquire, lock_import, lock_revoke, lock_force, true,
                      NULL},
    [SIM_FAIRLOCK] = {SIM_OF_LOCK, true, false, fairlock_make, fairlock_free,
                      fairlock_acquire, fairlock_import, fairlock_revoke,
                      fairlock_force, true, NULL},
    [SIM_LEADER] = {SIM_OF_LOCK, true, false, leader_make, leader_free,
                    leader_acquire, NULL, NULL, NULL, true, NULL},
    [SIM_READ] = {SIM_OF_RWLOCK, false, false, rwlock_make, rwlock_free,
                  rwlock_acquire, rwlock_import, rwlock_revoke, rwlock_force,
                  true, NULL},
    [SIM_UPGRADEABLE] = {SIM_OF_RWLOCK, false, false, rwlock_make, rwlock_free,
                         rwlock_acquire, rwlock_import, rwlock_revoke,
                         rwlock_force, true, NULL},
    [SIM_WRITE] = {SIM_OF_RWLOCK, true, false, rwlock_make, rwlock_free,
                   rwlock_acquire, rwlock_import, rwlock_revoke, rwlock_force,
                   true, NULL},
    [SIM_SEMAPHORE] = {SIM_OF_SEMAPHORE, false, false, semaphore_make,
                       semaphore_free, semaphore_acquire, semaphore_import,
                       semaphore_revoke, semaphore_force, true, NULL},
    [SIM_SIGLOCK] = {SIM_OF_SIGLOCK, false, false, siglock_make, siglock_free,
                     siglock_acquire, siglock_import, siglock_revoke,
                     siglock_force, true, NULL},
    [SIM_STRIPE] = {SIM_OF_STRIPES, true, false, stripes_make, stripes_free,
                    stripes_acquire, NULL, NULL, NULL, true, NULL},
    [SIM_MULTILOCK] = {SIM_OF_MULTILOCK, false, true, multilock_make,
                       multilock_free, multilock_acquire, NULL, NULL, NULL,
                       true, NULL},
    [SIM_LATCH] = {SIM_OF_LATCH, false, false, latch_make, latch_free, NULL,
                   NULL, NULL, NULL, false, sim_errand_latch},
    [SIM_PLAIN] = {SIM_OF_PLAIN, false, false, plain_make, plain_free, NULL,
                   NULL, NULL, NULL, false, sim_errand_plain},
    [SIM_REDLOCK] = {SIM_OF_REDLOCK, false, true, redlock_make, redlock_free,
                     redlock_acquire, NULL, NULL, NULL, true, NULL},
    [SIM_BARRIER] = {SIM_OF_BARRIER, false, false, latch_make, latch_free, NULL,
                     NULL, NULL, NULL, false, sim_errand_barrier},
    [SIM_CELL] = {SIM_OF_CELL, false, false, cell_make, cell_free, NULL, NULL,
                  NULL, NULL, true, sim_errand_cell},
    [SIM_FLIGHT] = {SIM_OF_FLIGHT, false, false, flight_make, flight_free, NULL,
                    NULL, NULL, NULL, true, sim_errand_flight},
    [SIM_TIMED] = {SIM_OF_LATCH, false, false, timed_make, latch_free, NULL,
                   NULL, NULL, NULL, false, sim_errand_timed},
    [SIM_OBSERVER] = {SIM_OF_LOCK, false, false, leader_make, leader_free, NULL,
                      NULL, NULL, NULL, false, sim_errand_observer},
};
