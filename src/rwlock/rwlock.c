/* SPDX-License-Identifier: MIT */

/*
 * The read-write lock: Redisson's hash `N` with its mode, a field for each
 * reader or for the writer, and a key of its own for each reader's lease. Who
 * may come in is decided by the scripts; what an owner already holds, here.
 */

#include "rwlock/rwlock.h"

#include <latchkey/rwlock.h>

#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "claims/ask.h"
#include "handle/handle.h"
#include "rwlock/protocol.h"
#include "rwlock_table.h"

static bool meet(lk__wait *wait);
static const char *guard(const lk__claim *claim);

const lk__kind lk__kind_rwlock = {
    .word = "rwlock",
    .family = "rwlock",
    .protocol = &lk__protocol_rwlock,
    .joins = true,
    .tends = true,
    .meet = meet,
    .guard = guard,
    .shed = lk__rwlock_shed,
    .key_count = LK__RWLOCK_KEY_TIMEOUT, /* it and those behind are a claim's */
    .keys = lk__rwlock_keys,
    .channel = "redisson_rwlock",
};

struct lk_rwlock {
    lk__handle handle; /* first */
    lk_rwlock_options options;
    lk__spin spin;
};

static const lk__handle *handle_of(const lk_rwlock *rwlock)
{
    return (const lk__handle *)(const void *)rwlock;
}

/* ---- new and free ------------------------------------------------------------ */

static lk_status options_take(lk_rwlock_options *copy, lk__spin *spin,
                              const lk_rwlock_options *options)
{
    lk_status status = lk__options_copy(copy, sizeof(*copy), options);

    if (status == LK_OK && copy->lease_ms != 0)
        status = lk__lease_check(copy->lease_ms);
    if (status == LK_OK && copy->order > LK_RWLOCK_WRITERS_FIRST)
        status = lk__fail(LK_EINVAL, "there is no such order");
    if (status == LK_OK)
        status = lk__spin_take(spin, copy->strategy, copy->spin_first_ms,
                               copy->spin_most_ms);
    return status;
}

lk_status lk_rwlock_new(lk_rwlock **ret_rwlock, lk_client *client,
                        const char *name, const lk_rwlock_options *options)
{
    lk_rwlock_options copy;
    lk__handle *handle;
    lk__spin spin;
    lk_status status = options_take(&copy, &spin, options);

    if (ret_rwlock == NULL)
        return lk__fail(LK_EINVAL, "ret_rwlock is NULL");
    if (status == LK_OK)
        status = lk__handle_new(&handle, sizeof(lk_rwlock), client,
                                &lk__kind_rwlock, name);
    if (status != LK_OK)
        return status;
    *ret_rwlock = (lk_rwlock *)(void *)handle;
    (*ret_rwlock)->options = copy;
    (*ret_rwlock)->spin = spin;
    return LK_OK;
}

void lk_rwlock_free(lk_rwlock *rwlock)
{
    lk__handle_free((lk__handle *)(void *)rwlock);
}

/* ---- what an owner holds ------------------------------------------------------- */

static const char reading[] = "r", upgradeable[] = "u", writing[] = "w";

static bool is_of_mode(const lk__claim *claim, const char *mode)
{
    const char *its = lk__claim_terms(claim)->mode;

    return its != NULL && its[0] == mode[0];
}

bool lk__rwlock_writes(const lk__claim *claim)
{
    return is_of_mode(claim, writing);
}

/* A writer's field. */
static const char *guard(const lk__claim *claim)
{
    return lk__rwlock_writes(claim) ? ":write" : NULL;
}

void lk__rwlock_set_writes(lk__claim *claim, bool writes)
{
    claim->extra->terms.mode = writes ? writing : reading;
}

/* The valid claim by which the owner of the wait holds in this mode; NULL: it
   does not. */
static lk__claim *held_by(const lk__wait *wait, const char *mode)
{
    for (lk__claim *claim = wait->place->first_claim;
         claim != NULL && claim->was_held; claim = claim->next) {
        if (is_of_mode(claim, mode) &&
            lk__claim_is_owned_by(claim, wait->owner))
            return claim;
    }
    return NULL;
}

static bool join(lk__wait *wait, lk__claim *claim)
{
    lk__wait_join(wait, claim);
    return true;
}

/* The server is told beside which hold of the same owner it is to be. */
static void stand_beside(lk__wait *wait, lk__claim *base)
{
    wait->line = LK__LINE_OWN;
    snprintf(wait->beside, sizeof(wait->beside), "%s", lk__claim_id(base));
    if (lk__rwlock_writes(base))
        base->is_mixed = true;
}

static bool meet_read(lk__wait *wait)
{
    lk__claim *read = held_by(wait, reading);
    lk__claim *write = held_by(wait, writing);

    if (read == NULL)
        read = held_by(wait, upgradeable);
    if (read != NULL)
        return join(wait, read);
    if (write != NULL)
        stand_beside(wait, write);
    else if (!wait->watchdog)
        wait->line = LK__LINE_OWN;
    return false;
}

/* A plain read hold of its own, which keeps every writer out, it would wait
   for itself to give up. */
static bool is_refused(lk__wait *wait)
{
    if (held_by(wait, reading) == NULL)
        return false;
    lk__call_done(&wait->call, LK_EUPGRADE, NULL);
    return true;
}

static bool meet_upgradeable(lk__wait *wait)
{
    lk__claim *own = held_by(wait, upgradeable);
    lk__claim *write = held_by(wait, writing);

    if (own != NULL)
        return join(wait, own);
    if (is_refused(wait))
        return true;
    if (write != NULL)
        stand_beside(wait, write);
    return false;
}

static bool meet_write(lk__wait *wait)
{
    lk__claim *own = held_by(wait, writing);
    lk__claim *base = held_by(wait, upgradeable);

    if (own != NULL)
        return join(wait, own);
    if (is_refused(wait))
        return true;
    if (base != NULL)
        stand_beside(wait, base);
    return false;
}

static bool meet(lk__wait *wait)
{
    if (wait->terms.mode == reading)
        return meet_read(wait);
    return wait->terms.mode == writing ? meet_write(wait)
                                       : meet_upgradeable(wait);
}

/* ---- acquire ----------------------------------------------------------------- */

/* Of a handle that was checked. Only plain readers share a line. */
static lk__wish wish_of(const lk_rwlock *rwlock, const char *mode,
                        int64_t wait_ms, const lk_acquire_options *options)
{
    lk__wish wish = {.place = rwlock->handle.place,
                     .wait_ms = wait_ms,
                     .default_lease_ms = rwlock->options.lease_ms,
                     .options = options,
                     .line = mode == reading ? LK__LINE_SHARED : LK__LINE_OWN,
                     .terms = {.mode = mode,
                               .need = 1,
                               .number = rwlock->options.order},
                     .spin = rwlock->spin};

    return wish;
}

static lk_status acquire(lk_rwlock *rwlock, const char *mode, int64_t wait_ms,
                         const lk_acquire_options *options, lk_hold **ret_hold)
{
    lk_status status = lk__handle_check(handle_of(rwlock), ret_hold);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(rwlock, mode, wait_ms, options);
    return lk__wait_acquire(&wish, ret_hold);
}

static lk_status
acquire_async(lk_rwlock *rwlock, const char *mode, int64_t wait_ms,
              const lk_acquire_options *options, lk_acquire_cb cb, void *data)
{
    lk_status status = lk__handle_check(handle_of(rwlock), rwlock);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(rwlock, mode, wait_ms, options);
    return lk__wait_acquire_async(&wish, cb, data);
}

lk_status lk_rwlock_acquire_read(lk_rwlock *rwlock, int64_t wait_ms,
                                 const lk_acquire_options *options,
                                 lk_hold **ret_hold)
{
    return acquire(rwlock, reading, wait_ms, options, ret_hold);
}

lk_status lk_rwlock_acquire_read_async(lk_rwlock *rwlock, int64_t wait_ms,
                                       const lk_acquire_options *options,
                                       lk_acquire_cb cb, void *data)
{
    return acquire_async(rwlock, reading, wait_ms, options, cb, data);
}

lk_status lk_rwlock_acquire_upgradeable(lk_rwlock *rwlock, int64_t wait_ms,
                                        const lk_acquire_options *options,
                                        lk_hold **ret_hold)
{
    return acquire(rwlock, upgradeable, wait_ms, options, ret_hold);
}

lk_status lk_rwlock_acquire_upgradeable_async(lk_rwlock *rwlock,
                                              int64_t wait_ms,
                                              const lk_acquire_options *options,
                                              lk_acquire_cb cb, void *data)
{
    return acquire_async(rwlock, upgradeable, wait_ms, options, cb, data);
}

lk_status lk_rwlock_acquire_write(lk_rwlock *rwlock, int64_t wait_ms,
                                  const lk_acquire_options *options,
                                  lk_hold **ret_hold)
{
    return acquire(rwlock, writing, wait_ms, options, ret_hold);
}

lk_status lk_rwlock_acquire_write_async(lk_rwlock *rwlock, int64_t wait_ms,
                                        const lk_acquire_options *options,
                                        lk_acquire_cb cb, void *data)
{
    return acquire_async(rwlock, writing, wait_ms, options, cb, data);
}

lk_status lk_rwlock_import(lk_rwlock *rwlock, const char *text,
                           const lk_acquire_options *options,
                           lk_hold **ret_hold)
{
    return lk__handle_import(handle_of(rwlock), text, options, ret_hold);
}

static lk_status run(lk_rwlock *rwlock, const char *mode, int64_t wait_ms,
                     const lk_acquire_options *options, lk_run_fn fn,
                     void *data)
{
    lk_hold *hold;
    lk_status status;

    if (fn == NULL)
        return lk__fail(LK_EINVAL, "the function is NULL");
    status = acquire(rwlock, mode, wait_ms, options, &hold);
    return status != LK_OK ? status : lk__handle_run(hold, fn, data);
}

lk_status lk_rwlock_run_read(lk_rwlock *rwlock, int64_t wait_ms,
                             const lk_acquire_options *options, lk_run_fn fn,
                             void *data)
{
    return run(rwlock, reading, wait_ms, options, fn, data);
}

lk_status lk_rwlock_run_write(lk_rwlock *rwlock, int64_t wait_ms,
                              const lk_acquire_options *options, lk_run_fn fn,
                              void *data)
{
    return run(rwlock, writing, wait_ms, options, fn, data);
}

/* ---- operators ---------------------------------------------------------------- */

lk_status
lk_rwlock_revoke(lk_rwlock *rwlock, const char *owner, int64_t *ret_left_ms)
{
    return lk__handle_revoke(handle_of(rwlock), owner, ret_left_ms);
}

lk_status lk_rwlock_revoke_async(lk_rwlock *rwlock, const char *owner,
                                 lk_revoke_cb cb, void *data)
{
    return lk__handle_revoke_async(handle_of(rwlock), owner, cb, data);
}

lk_status lk_rwlock_force_release(lk_rwlock *rwlock)
{
    return lk__handle_force(handle_of(rwlock), NULL);
}

lk_status
lk_rwlock_force_release_async(lk_rwlock *rwlock, lk_done_cb cb, void *data)
{
    return lk__handle_force_async(handle_of(rwlock), NULL, cb, data);
}

lk_status lk_rwlock_force_release_of(lk_rwlock *rwlock, const char *owner)
{
    lk_status status = lk__owner_check(owner);

    return status != LK_OK ? status
                           : lk__handle_force(handle_of(rwlock), owner);
}

lk_status lk_rwlock_force_release_of_async(lk_rwlock *rwlock, const char *owner,
                                           lk_done_cb cb, void *data)
{
    lk_status status = lk__owner_check(owner);

    return status != LK_OK
               ? status
               : lk__handle_force_async(handle_of(rwlock), owner, cb, data);
}

lk_status lk_rwlock_info(lk_rwlock *rwlock, lk_info **ret_info)
{
    return lk__handle_info(handle_of(rwlock), ret_info);
}

lk_status lk_rwlock_info_async(lk_rwlock *rwlock, lk_info_cb cb, void *data)
{
    return lk__handle_info_async(handle_of(rwlock), cb, data);
}

/* ---- the state ----------------------------------------------------------------- */

struct question {
    lk__ask ask; /* first */
    lk_rwlock_state state;
    lk_rwlock_state_cb cb;
    void *data;
};

static lk_status
question_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct question *question = (struct question *)(void *)ask;

    *ret_more = false;
    return lk__rwlock_read_state(reply, &question->state);
}

static void question_deliver(lk__call *call)
{
    struct question *question =
        (struct question *)(void *)lk__ask_of_call(call);

    question->cb(call->status, question->state, question->data);
    lk__ask_finish(&question->ask);
}

/* NULL: out of memory. Inside the monitor. */
static struct question *
question_new(lk__place *place, void (*deliver)(lk__call *call))
{
    struct question *question =
        (struct question *)(void *)lk__ask_new(sizeof(*question), place->client,
                                               place, deliver);

    if (question == NULL)
        return NULL;
    question->ask.reads = true;
    question->ask.take = question_take;
    if (lk__ask_question(&question->ask, lk__rwlock_ask_state(place)) == LK_OK)
        return question;
    lk__ask_release(&question->ask);
    return NULL;
}

lk_status lk_rwlock_state_get(lk_rwlock *rwlock, lk_rwlock_state *ret_state)
{
    lk__place *place;
    lk_status status = lk__handle_enter(handle_of(rwlock), ret_state, &place);
    struct question *question;

    if (status != LK_OK)
        return status;
    question = question_new(place, NULL);
    if (question == NULL) {
        status = LK_ENOMEM;
    } else {
        lk__ask_begin(&question->ask);
        status = lk__ask_sleep(&question->ask);
        if (status == LK_OK)
            *ret_state = question->state;
        lk__ask_release(&question->ask);
    }
    lk__handle_leave(place);
    return status;
}

lk_status
lk_rwlock_state_get_async(lk_rwlock *rwlock, lk_rwlock_state_cb cb, void *data)
{
    lk_status status = lk__handle_enter_async(handle_of(rwlock), cb != NULL);
    struct question *question;

    if (status != LK_OK)
        return status;
    question = question_new(rwlock->handle.place, question_deliver);
    if (question == NULL) {
        status = LK_ENOMEM;
    } else {
        question->cb = cb;
        question->data = data;
        lk__ask_begin(&question->ask);
    }
    lk__handle_leave_async(handle_of(rwlock));
    return status;
}
