/* SPDX-License-Identifier: MIT */

/*
 * Stripes: a lock for each, made when it is first wanted. Before a stripe is
 * acquired the number of stripes is compared, unless that was done a short
 * while ago.
 */

#include <latchkey/lock.h>
#include <latchkey/multilock.h>
#include <latchkey/stripes.h>

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/node.h"
#include "claims/wait.h"
#include "engine/call.h"
#include "engine/cancel.h"
#include "engine/owner.h"
#include "handle/handle.h"
#include "settings/options.h"
#include "stripes/agree.h"
#include "stripes/fold.h"

enum { DEFAULT_COUNT = 64, NAME_MAX_SIZE = 480, REASON_MAX = 200 };

struct lk_stripes {
    atomic_uint refs; /* the user's, and each call's under way */
    pthread_mutex_t mutex;
    char *name;
    lk_lock_options options;
    lk__agreement *agreement;
    lk_lock **locks; /* each made when it is first wanted */
};

/* ---- new and free ------------------------------------------------------------ */

static void stripes_unref(lk_stripes *stripes)
{
    if (--stripes->refs > 0)
        return;
    for (uint64_t i = 0; i < stripes->agreement->count; i++)
        lk_lock_free(stripes->locks[i]);
    pthread_mutex_destroy(&stripes->mutex);
    lk__agreement_unref(stripes->agreement);
    lk__free(stripes->locks);
    lk__free(stripes->name);
    lk__free(stripes);
}

static lk_stripes *
stripes_make(lk_client *client, const char *name, uint64_t count)
{
    lk_stripes *stripes = lk__alloc(sizeof(*stripes));

    if (stripes == NULL)
        return NULL;
    stripes->name = lk__strdup(name);
    stripes->locks = lk__alloc(count * sizeof(lk_lock *));
    stripes->agreement = lk__agreement_new(client, name, count);
    if (stripes->name != NULL && stripes->locks != NULL &&
        stripes->agreement != NULL) {
        stripes->refs = 1;
        pthread_mutex_init(&stripes->mutex, NULL);
        return stripes;
    }
    if (stripes->agreement != NULL)
        lk__agreement_unref(stripes->agreement);
    lk__free(stripes->locks);
    lk__free(stripes->name);
    lk__free(stripes);
    return NULL;
}

static lk_status options_check(lk_stripes_options *options, const char *name)
{
    if (options->count == 0)
        options->count = DEFAULT_COUNT;
    if (options->count > LK_STRIPES_MAX)
        return lk__fail(LK_EINVAL, "at most %d stripes", LK_STRIPES_MAX);
    if (options->lease_ms != 0 && lk__lease_check(options->lease_ms) != LK_OK)
        return LK_EINVAL;
    if (name != NULL && strnlen(name, NAME_MAX_SIZE + 1) > NAME_MAX_SIZE)
        return lk__fail(LK_EINVAL, "the name has to have 1 to %d bytes",
                        NAME_MAX_SIZE);
    return lk__name_check(name);
}

lk_status lk_stripes_new(lk_stripes **ret_stripes, lk_client *client,
                         const char *name, const lk_stripes_options *options)
{
    lk_stripes_options copy = {0};
    lk_stripes *stripes;
    lk_status status = lk__options_copy(&copy, sizeof(copy), options);

    if (ret_stripes == NULL)
        return lk__fail(LK_EINVAL, "ret_stripes is NULL");
    if (status == LK_OK)
        status = options_check(&copy, name);
    if (status == LK_OK)
        status = lk__client_enter(client);
    if (status != LK_OK)
        return status;
    lk__client_leave(client);
    stripes = stripes_make(client, name, copy.count);
    if (stripes == NULL)
        return LK_ENOMEM;
    stripes->options =
        (lk_lock_options){LK_LOCK_OPTIONS_INIT, .lease_ms = copy.lease_ms};
    *ret_stripes = stripes;
    return LK_OK;
}

void lk_stripes_free(lk_stripes *stripes)
{
    if (stripes != NULL &&
        lk__client_check(stripes->agreement->client) == LK_OK)
        stripes_unref(stripes);
}

/* ---- the stripes of keys ------------------------------------------------------- */

lk_status lk_stripes_index(const lk_stripes *stripes, const char *key,
                           uint64_t *ret_index)
{
    if (stripes == NULL || key == NULL || ret_index == NULL)
        return lk__fail(LK_EINVAL, "the handle, the key or the place for the "
                                   "result is NULL");
    *ret_index = lk__stripes_fold(key, stripes->agreement->count);
    return LK_OK;
}

/* "<name>:stripe:<65535>" */
enum { LOCK_NAME_SIZE = NAME_MAX_SIZE + 32 };

static lk_status
lock_of(lk_stripes *stripes, const char *key, lk_lock **ret_lock)
{
    uint64_t index = lk__stripes_fold(key, stripes->agreement->count);
    char name[LOCK_NAME_SIZE];
    lk_status status = LK_OK;

    pthread_mutex_lock(&stripes->mutex);
    if (stripes->locks[index] == NULL) {
        (void)snprintf(name, sizeof(name), "%s:stripe:%u", stripes->name,
                       (unsigned)index);
        status = lk_lock_new(&stripes->locks[index], stripes->agreement->client,
                             name, &stripes->options);
    }
    *ret_lock = stripes->locks[index];
    pthread_mutex_unlock(&stripes->mutex);
    return status;
}

static lk_status
keys_check(const lk_stripes *stripes, const char *const *keys, size_t count)
{
    if (stripes == NULL)
        return lk__fail(LK_EINVAL, "the handle is NULL");
    if (keys == NULL || count == 0 || count > LK_MULTILOCK_MAX)
        return lk__fail(LK_EINVAL, "1 to %d keys", LK_MULTILOCK_MAX);
    for (size_t i = 0; i < count; i++) {
        if (keys[i] == NULL)
            return lk__fail(LK_EINVAL, "a key is NULL");
    }
    return lk__client_check(stripes->agreement->client);
}

/* NULL: *ret_status says why. */
static lk_multilock *set_of(lk_stripes *stripes, const char *const *keys,
                            size_t count, lk_status *ret_status)
{
    lk_multilock *set = NULL;
    lk_lock *lock = NULL;

    *ret_status = lk_multilock_new(&set);
    for (size_t i = 0; i < count && *ret_status == LK_OK; i++) {
        *ret_status = lock_of(stripes, keys[i], &lock);
        if (*ret_status == LK_OK)
            *ret_status = lk_multilock_add_lock(set, lock);
    }
    if (*ret_status == LK_OK)
        return set;
    lk_multilock_free(set);
    return NULL;
}

/* ---- blocking --------------------------------------------------------------------- */

/* What is left of the wait, rounded up; false: nothing is. */
static bool wait_left(const lk_client *client, uint64_t until, int64_t *wait_ms)
{
    uint64_t now = lk__client_now(client);

    if (*wait_ms <= 0)
        return true;
    *wait_ms = (int64_t)lk__remaining_ms(now, until) + 1;
    return now < until;
}

static uint64_t until_of(const lk_client *client, int64_t wait_ms)
{
    return wait_ms > 0 ? lk__wait_until_ns(lk__client_now(client), wait_ms)
                       : LK__NEVER;
}

/* A wait without a limit rides out an outage, also at the comparison. */
static bool
goes_on(lk_status status, int64_t wait_ms, const lk_acquire_options *options)
{
    return wait_ms == LK_FOREVER && lk__status_is_outage(status) &&
           !lk__cancel_is_fired(options->cancel);
}

/* All processes have the same number of stripes; then *wait_ms is what is left
   of it. */
static lk_status
agree(lk_stripes *stripes, int64_t *wait_ms, const lk_acquire_options *given)
{
    lk_client *client = stripes->agreement->client;
    uint64_t until = until_of(client, *wait_ms);
    lk_acquire_options options;
    lk_status status = lk__wait_check(*wait_ms);

    if (status == LK_OK)
        status = lk__options_copy(&options, sizeof(options), given);
    if (status != LK_OK || lk__agreement_is_fresh(stripes->agreement))
        return status;
    do {
        status = lk__client_enter_blocking(client);
        if (status != LK_OK)
            return status;
        status = lk__agree(stripes->agreement, until);
        lk__client_leave_blocking(client);
    } while (goes_on(status, *wait_ms, &options));
    if (status == LK_OK && !wait_left(client, until, wait_ms))
        return lk__fail(LK_ETIMEDOUT, "%s", lk_status_text(LK_ETIMEDOUT));
    return status;
}

lk_status lk_stripes_acquire(lk_stripes *stripes, const char *key,
                             int64_t wait_ms, const lk_acquire_options *options,
                             lk_hold **ret_hold)
{
    lk_status status = keys_check(stripes, &key, 1);
    lk_lock *lock = NULL;

    if (status != LK_OK)
        return status;
    if (ret_hold == NULL)
        return lk__fail(LK_EINVAL, "the place for the result is NULL");
    stripes->refs++;
    status = agree(stripes, &wait_ms, options);
    if (status == LK_OK)
        status = lock_of(stripes, key, &lock);
    if (status == LK_OK)
        status = lk_lock_acquire(lock, wait_ms, options, ret_hold);
    stripes_unref(stripes);
    return status;
}

lk_status lk_stripes_acquire_many(lk_stripes *stripes, const char *const *keys,
                                  size_t count, int64_t wait_ms,
                                  const lk_acquire_options *options,
                                  lk_hold **ret_hold)
{
    lk_status status = keys_check(stripes, keys, count);
    lk_multilock *set = NULL;

    if (status != LK_OK)
        return status;
    if (ret_hold == NULL)
        return lk__fail(LK_EINVAL, "the place for the result is NULL");
    stripes->refs++;
    status = agree(stripes, &wait_ms, options);
    if (status == LK_OK)
        set = set_of(stripes, keys, count, &status);
    if (set != NULL)
        status = lk_multilock_acquire(set, wait_ms, options, ret_hold);
    lk_multilock_free(set);
    stripes_unref(stripes);
    return status;
}

/* ---- without waiting ----------------------------------------------------------------- */

/*
 * An async call: first the comparison, if one is due, then the acquire, both of
 * which end on the loop or in dispatch. It keeps the handle, and so the locks.
 */
typedef struct order {
    lk_stripes *stripes;
    lk_lock *lock;     /* one key's, or */
    lk_multilock *set; /* those of many */
    int64_t wait_ms;
    uint64_t until;
    lk_acquire_options options;
    lk_owner owner; /* the caller may free its own meanwhile */
    char reason[REASON_MAX + 1];
    lk_acquire_cb cb;
    void *data;
    lk__call call; /* if it ends before the acquire has begun */
} order;

static void order_free(order *o)
{
    lk_multilock_free(o->set);
    stripes_unref(o->stripes);
    lk__free(o);
}

static void on_acquired(lk_status status, lk_hold *hold, void *data)
{
    order *o = data;

    o->cb(status, hold, o->data);
    order_free(o);
}

static void deliver(lk__call *call)
{
    order *o = LK__CONTAINER_OF(call, order, call);

    on_acquired(call->status, NULL, o);
}

static lk_status order_acquire(order *o)
{
    if (o->lock != NULL)
        return lk_lock_acquire_async(o->lock, o->wait_ms, &o->options,
                                     on_acquired, o);
    return lk_multilock_acquire_async(o->set, o->wait_ms, &o->options,
                                      on_acquired, o);
}

static lk_status order_begin(order *o);

/* On the loop, whatever .dispatch says; the user's callback is not. */
static void on_agreed(lk_status status, void *data)
{
    order *o = data;
    lk_client *client = o->stripes->agreement->client;

    if (status == LK_OK && !wait_left(client, o->until, &o->wait_ms))
        status = lk__fail(LK_ETIMEDOUT, "%s", lk_status_text(LK_ETIMEDOUT));
    if (status == LK_OK)
        status = order_acquire(o);
    else if (goes_on(status, o->wait_ms, &o->options))
        status = order_begin(o);
    if (status == LK_OK)
        return;
    lk__client_lock(client);
    lk__call_init(&o->call, client, deliver);
    lk__call_done(&o->call, status, lk_last_error());
    lk__client_leave(client);
}

static lk_status order_begin(order *o)
{
    lk_stripes *stripes = o->stripes;
    lk_client *client = stripes->agreement->client;
    lk_status status = lk__client_enter(client);

    if (status != LK_OK)
        return status;
    if (lk__agreement_is_fresh(stripes->agreement)) {
        lk__client_leave(client);
        return order_acquire(o);
    }
    status = lk__agree_async(stripes->agreement, o->until, on_agreed, o);
    lk__client_leave(client);
    return status;
}

/* What the acquire would refuse is refused before anything is asked. */
static lk_status order_check(int64_t wait_ms, const lk_acquire_options *options,
                             lk_acquire_cb cb, lk_acquire_options *ret_options)
{
    lk_status status = lk__wait_check(wait_ms);

    if (cb == NULL)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    if (status == LK_OK)
        status = lk__options_copy(ret_options, sizeof(*ret_options), options);
    if (status == LK_OK && ret_options->lease_ms != 0)
        status = lk__lease_check(ret_options->lease_ms);
    return status;
}

static order *order_new(lk_stripes *stripes, int64_t wait_ms,
                        const lk_acquire_options *options, lk_acquire_cb cb,
                        void *data)
{
    order *o = lk__alloc(sizeof(*o));

    if (o == NULL)
        return NULL;
    o->stripes = stripes;
    stripes->refs++;
    o->wait_ms = wait_ms;
    o->until = until_of(stripes->agreement->client, wait_ms);
    o->options = *options;
    if (options->owner != NULL) {
        o->owner = *options->owner;
        o->options.owner = &o->owner;
    }
    if (options->reason != NULL) {
        (void)snprintf(o->reason, sizeof(o->reason), "%s", options->reason);
        o->options.reason = o->reason;
    }
    o->cb = cb;
    o->data = data;
    return o;
}

/* is_many: the hold is to be a multilock's, of one key as well. */
static lk_status acquire_async(lk_stripes *stripes, const char *const *keys,
                               size_t count, bool is_many, int64_t wait_ms,
                               const lk_acquire_options *options,
                               lk_acquire_cb cb, void *data)
{
    lk_acquire_options copy = {0};
    lk_status status = keys_check(stripes, keys, count);
    order *o;

    if (status == LK_OK)
        status = order_check(wait_ms, options, cb, &copy);
    if (status != LK_OK)
        return status;
    o = order_new(stripes, wait_ms, &copy, cb, data);
    if (o == NULL)
        return LK_ENOMEM;
    if (is_many)
        o->set = set_of(stripes, keys, count, &status);
    else
        status = lock_of(stripes, keys[0], &o->lock);
    if (status == LK_OK)
        status = order_begin(o);
    if (status != LK_OK)
        order_free(o);
    return status;
}

lk_status lk_stripes_acquire_async(lk_stripes *stripes, const char *key,
                                   int64_t wait_ms,
                                   const lk_acquire_options *options,
                                   lk_acquire_cb cb, void *data)
{
    return acquire_async(stripes, &key, 1, false, wait_ms, options, cb, data);
}

lk_status lk_stripes_acquire_many_async(lk_stripes *stripes,
                                        const char *const *keys, size_t count,
                                        int64_t wait_ms,
                                        const lk_acquire_options *options,
                                        lk_acquire_cb cb, void *data)
{
    return acquire_async(stripes, keys, count, true, wait_ms, options, cb,
                         data);
}
