/* SPDX-License-Identifier: MIT */

/* One shape for all kinds of locks. */

#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { MEMBERS_MAX = 8, TOKEN_LEASE_MS = 30000, TOKEN_TIMEOUT_MS = 200 };

typedef enum grip_kind {
    GRIP_LOCK,
    GRIP_SPIN,
    GRIP_FAIR,
    GRIP_READ,
    GRIP_WRITE,
    GRIP_MULTI,
    GRIP_SEMAPHORE,
    GRIP_PERMITS,
    GRIP_LATCH,
    GRIP_TOKEN,
    GRIP_SIGLOCK
} grip_kind;

struct grip {
    grip_kind kind;
    lk_lock *lock;
    lk_fairlock *fair;
    lk_rwlock *rw;
    lk_multilock *multi;
    lk_lock *members[MEMBERS_MAX];
    lk_plain_semaphore *plain;
    lk_semaphore *permits;
    lk_latch *latch;
    lk_redlock *token;
    lk_siglock *siglock;
};

static const struct {
    const char *word;
    grip_kind kind;
} kinds[] = {{"lock", GRIP_LOCK},       {"fenced", GRIP_LOCK},
             {"spin", GRIP_SPIN},       {"fair", GRIP_FAIR},
             {"read", GRIP_READ},       {"write", GRIP_WRITE},
             {"multi", GRIP_MULTI},     {"semaphore", GRIP_SEMAPHORE},
             {"permits", GRIP_PERMITS}, {"latch", GRIP_LATCH},
             {"token", GRIP_TOKEN},     {"siglock", GRIP_SIGLOCK}};

/* ---- handles --------------------------------------------------------------- */

static lk_status multi_new(grip *g, lk_client *client, const char *names)
{
    char *list = strdup(names);
    char *rest = list;
    lk_status status = lk_multilock_new(&g->multi);
    const char *name;
    size_t count = 0;

    while (status == LK_OK && (name = strtok_r(rest, ",", &rest)) != NULL) {
        if (count == MEMBERS_MAX)
            status = LK_EINVAL;
        else
            status = lk_lock_new(&g->members[count], client, name, NULL);
        if (status == LK_OK)
            status = lk_multilock_add_lock(g->multi, g->members[count++]);
    }
    free(list);
    return status;
}

/* No server of a run comes back once it was stopped, so none forgets. Its
   answer is waited for longer than usual: the machine may be busy. */
static lk_status token_new(grip *g, const servers *from, const char *name)
{
    lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                  .lease_ms = from->lease_ms,
                                  .longest_lease_ms = TOKEN_LEASE_MS,
                                  .node_timeout_ms = TOKEN_TIMEOUT_MS,
                                  .durable = 1};

    return lk_redlock_new(&g->token, from->clients, from->count, name,
                          &options);
}

static lk_status handle_new(grip *g, const servers *from, const char *name)
{
    lk_client *client = from->clients[0];
    lk_lock_options spin = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};

    switch (g->kind) {
    case GRIP_LOCK:
        return lk_lock_new(&g->lock, client, name, NULL);
    case GRIP_SPIN:
        return lk_lock_new(&g->lock, client, name, &spin);
    case GRIP_FAIR:
        return lk_fairlock_new(&g->fair, client, name, NULL);
    case GRIP_READ:
    case GRIP_WRITE:
        return lk_rwlock_new(&g->rw, client, name, NULL);
    case GRIP_MULTI:
        return multi_new(g, client, name);
    case GRIP_SEMAPHORE:
        return lk_plain_semaphore_new(&g->plain, client, name);
    case GRIP_PERMITS:
        return lk_semaphore_new(&g->permits, client, name, NULL);
    case GRIP_LATCH:
        return lk_latch_new(&g->latch, client, name, NULL);
    case GRIP_TOKEN:
        return token_new(g, from, name);
    case GRIP_SIGLOCK:
        return lk_siglock_new(&g->siglock, client, name, NULL);
    }
    return LK_EINVAL;
}

grip *grip_new(const servers *from, const char *kind, const char *name)
{
    grip *g = calloc(1, sizeof(*g));
    size_t i = 0;

    while (i < sizeof(kinds) / sizeof(kinds[0]) &&
           strcmp(kinds[i].word, kind) != 0)
        i++;
    if (g == NULL || i == sizeof(kinds) / sizeof(kinds[0])) {
        free(g);
        return NULL;
    }
    g->kind = kinds[i].kind;
    if (handle_new(g, from, name) != LK_OK) {
        grip_free(g);
        return NULL;
    }
    return g;
}

void grip_free(grip *g)
{
    if (g == NULL)
        return;
    lk_multilock_free(g->multi);
    for (size_t i = 0; i < MEMBERS_MAX; i++)
        lk_lock_free(g->members[i]);
    lk_lock_free(g->lock);
    lk_fairlock_free(g->fair);
    lk_rwlock_free(g->rw);
    lk_plain_semaphore_free(g->plain);
    lk_semaphore_free(g->permits);
    lk_latch_free(g->latch);
    lk_redlock_free(g->token);
    lk_siglock_free(g->siglock);
    free(g);
}

/* ---- locks ------------------------------------------------------------------- */

lk_status
grip_acquire(grip *g, int64_t wait_ms, uint64_t lease_ms, lk_hold **ret_hold)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .lease_ms = lease_ms};

    switch (g->kind) {
    case GRIP_LOCK:
    case GRIP_SPIN:
        return lk_lock_acquire(g->lock, wait_ms, &options, ret_hold);
    case GRIP_FAIR:
        return lk_fairlock_acquire(g->fair, wait_ms, &options, ret_hold);
    case GRIP_READ:
        return lk_rwlock_acquire_read(g->rw, wait_ms, &options, ret_hold);
    case GRIP_WRITE:
        return lk_rwlock_acquire_write(g->rw, wait_ms, &options, ret_hold);
    case GRIP_MULTI:
        return lk_multilock_acquire(g->multi, wait_ms, &options, ret_hold);
    case GRIP_SEMAPHORE:
    case GRIP_PERMITS:
        return grip_take(g, 1, wait_ms, lease_ms, ret_hold);
    case GRIP_TOKEN:
        return lk_redlock_acquire(g->token, wait_ms, &options, ret_hold);
    case GRIP_SIGLOCK:
        return lk_siglock_acquire(g->siglock, wait_ms, &options, ret_hold);
    case GRIP_LATCH:
        break;
    }
    return LK_ENOTSUP;
}

lk_status grip_force(grip *g)
{
    switch (g->kind) {
    case GRIP_LOCK:
    case GRIP_SPIN:
        return lk_lock_force_release(g->lock);
    case GRIP_FAIR:
        return lk_fairlock_force_release(g->fair);
    case GRIP_READ:
    case GRIP_WRITE:
        return lk_rwlock_force_release(g->rw);
    case GRIP_SIGLOCK:
        return lk_siglock_force_release(g->siglock);
    case GRIP_MULTI:
    case GRIP_SEMAPHORE:
    case GRIP_PERMITS:
    case GRIP_LATCH:
    case GRIP_TOKEN:
        break;
    }
    return LK_ENOTSUP;
}

static lk_status rw_is_locked(grip *g, bool *ret_locked)
{
    lk_rwlock_state state;
    lk_status status = lk_rwlock_state_get(g->rw, &state);

    if (status == LK_OK)
        *ret_locked = state != LK_RWLOCK_FREE;
    return status;
}

lk_status grip_is_locked(grip *g, bool *ret_locked)
{
    switch (g->kind) {
    case GRIP_LOCK:
    case GRIP_SPIN:
        return lk_lock_is_locked(g->lock, ret_locked);
    case GRIP_FAIR:
        return lk_fairlock_is_locked(g->fair, ret_locked);
    case GRIP_READ:
    case GRIP_WRITE:
        return rw_is_locked(g, ret_locked);
    case GRIP_SIGLOCK:
        return lk_siglock_is_locked(g->siglock, ret_locked);
    case GRIP_MULTI:
    case GRIP_SEMAPHORE:
    case GRIP_PERMITS:
    case GRIP_LATCH:
    case GRIP_TOKEN:
        break;
    }
    return LK_ENOTSUP;
}

/* ---- permits and latches ------------------------------------------------------- */

lk_status grip_set(grip *g, uint64_t number)
{
    if (g->kind == GRIP_SEMAPHORE)
        return lk_plain_semaphore_try_set(g->plain, number, 0);
    if (g->kind == GRIP_PERMITS)
        return lk_semaphore_resize(g->permits, number);
    if (g->kind == GRIP_LATCH)
        return lk_latch_try_set_count(g->latch, number);
    return LK_ENOTSUP;
}

/* A plain permit is no hold: *ret_hold is NULL then. */
lk_status grip_take(grip *g, uint64_t count, int64_t wait_ms, uint64_t lease_ms,
                    lk_hold **ret_hold)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .lease_ms = lease_ms};

    *ret_hold = NULL;
    if (g->kind == GRIP_SEMAPHORE)
        return lk_plain_semaphore_acquire(g->plain, count, wait_ms, NULL);
    if (g->kind == GRIP_PERMITS)
        return lk_semaphore_acquire(g->permits, count, wait_ms, &options,
                                    ret_hold);
    return LK_ENOTSUP;
}

lk_status grip_give(grip *g, const char *what)
{
    if (g->kind == GRIP_SEMAPHORE)
        return lk_plain_semaphore_release(g->plain,
                                          (uint64_t)number_of(what, 1));
    if (g->kind == GRIP_PERMITS)
        return lk_semaphore_force_release(g->permits, what);
    return LK_ENOTSUP;
}

lk_status grip_count(grip *g, int64_t *ret_count)
{
    uint64_t number = 0;
    lk_status status = LK_ENOTSUP;

    if (g->kind == GRIP_SEMAPHORE)
        return lk_plain_semaphore_count(g->plain, ret_count);
    if (g->kind == GRIP_PERMITS)
        return lk_semaphore_count(g->permits, &number, ret_count);
    if (g->kind == GRIP_LATCH) {
        status = lk_latch_count(g->latch, &number);
        *ret_count = (int64_t)number;
    }
    return status;
}

lk_status grip_add(grip *g, int64_t number)
{
    return g->kind == GRIP_SEMAPHORE ? lk_plain_semaphore_add(g->plain, number)
                                     : LK_ENOTSUP;
}

lk_status grip_drain(grip *g, int64_t *ret_count)
{
    return g->kind == GRIP_SEMAPHORE
               ? lk_plain_semaphore_drain(g->plain, ret_count)
               : LK_ENOTSUP;
}

lk_status grip_delete(grip *g)
{
    if (g->kind == GRIP_SEMAPHORE)
        return lk_plain_semaphore_delete(g->plain);
    return g->kind == GRIP_LATCH ? lk_latch_delete(g->latch) : LK_ENOTSUP;
}

lk_status grip_down(grip *g)
{
    return g->kind == GRIP_LATCH ? lk_latch_count_down(g->latch, 1)
                                 : LK_ENOTSUP;
}

lk_status grip_await(grip *g, int64_t wait_ms)
{
    return g->kind == GRIP_LATCH ? lk_latch_wait(g->latch, wait_ms, NULL)
                                 : LK_ENOTSUP;
}
