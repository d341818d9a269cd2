/* SPDX-License-Identifier: MIT */

/*
 * The lock: Redisson's hash `N` with one field, the owner's, and beside it
 * what Latchkey's clients need of each other. Everything but the choice of
 * scripts is core's; see core/place.h for the keys.
 */

#include <latchkey/lock.h>

#include "core/ask.h"
#include "core/error.h"
#include "core/info.h"
#include "core/mem.h"
#include "core/names.h"
#include "core/place.h"
#include "core/reply.h"
#include "core/script.h"

extern const lk__script lk__script_lock_acquire;
extern const lk__script lk__script_lock_recheck;
extern const lk__script lk__script_lock_confirm;
extern const lk__script lk__script_lock_renew;
extern const lk__script lk__script_lock_release;
extern const lk__script lk__script_lock_leave;
extern const lk__script lk__script_lock_pass;
extern const lk__script lk__script_lock_force;
extern const lk__script lk__script_lock_info;

static const lk__kind lock_kind = {
    .word = "lock",
    .acquire = &lk__script_lock_acquire,
    .recheck = &lk__script_lock_recheck,
    .confirm = &lk__script_lock_confirm,
    .renew = &lk__script_lock_renew,
    .release = &lk__script_lock_release,
    .leave = &lk__script_lock_leave,
    .pass = &lk__script_lock_pass,
    .force = &lk__script_lock_force,
    .info = &lk__script_lock_info,
};

struct lk_lock {
    lk__place *place;
    lk_lock_options options;
};

/* ---- new and free ------------------------------------------------------------ */

static lk_status lock_check(const lk_lock *lock, const void *ret)
{
    if (lock == NULL)
        return lk__fail(LK_EINVAL, "the lock is NULL");
    if (ret == NULL)
        return lk__fail(LK_EINVAL, "there is no place for the result");
    return lk__client_check(lock->place->client);
}

static lk_status options_take(lk_lock *lock, const lk_lock_options *options)
{
    lk_status status = lk__options_copy(&lock->options, sizeof(lock->options),
                                        options, sizeof(lk_lock_options));

    if (status != LK_OK)
        return lk__fail(status, "the lock options have a bad size, or a field "
                                "that this release does not know");
    return lock->options.lease_ms == 0
               ? LK_OK
               : lk__lease_check(lock->options.lease_ms);
}

lk_status lk_lock_new(lk_lock **ret_lock, lk_client *client, const char *name,
                      const lk_lock_options *options)
{
    lk_lock *lock;
    lk_status status = lk__name_check(name);

    if (ret_lock == NULL)
        return lk__fail(LK_EINVAL, "ret_lock is NULL");
    if (status == LK_OK)
        status = lk__client_enter(client);
    if (status != LK_OK)
        return status;

    lock = lk__alloc(sizeof(*lock));
    status = lock == NULL ? LK_ENOMEM : options_take(lock, options);
    if (status == LK_OK) {
        lock->place = lk__place_get(client, &lock_kind, name);
        status = lock->place == NULL ? LK_ENOMEM : LK_OK;
    }
    lk__client_leave(client);
    if (status != LK_OK) {
        lk__free(lock);
        return status;
    }
    lk__client_ref(client);
    *ret_lock = lock;
    return LK_OK;
}

void lk_lock_free(lk_lock *lock)
{
    lk_client *client;

    if (lock == NULL || lk__client_check(lock->place->client) != LK_OK)
        return;
    client = lock->place->client;
    lk__client_lock(client);
    lk__place_unref(lock->place);
    lk__client_leave(client);
    lk__free(lock);
    lk__client_unref(client);
}

/* ---- acquire ----------------------------------------------------------------- */

lk_status lk_lock_acquire(lk_lock *lock, int64_t wait_ms,
                          const lk_acquire_options *options, lk_hold **ret_hold)
{
    lk_status status = lock_check(lock, ret_hold);

    if (status != LK_OK)
        return status;
    return lk__wait_acquire(lock->place, wait_ms, lock->options.lease_ms,
                            options, ret_hold);
}

/* ---- operators ---------------------------------------------------------------- */

struct force_answer {
    bool was_held;
    bool more;
};

static lk_status
take_force(void *data, const lk__request *request, const redisReply *reply)
{
    struct force_answer *answer = data;

    (void)request;
    answer->was_held = lk__reply_integer_at(reply, 0, 0) == 1;
    answer->more = lk__reply_integer_at(reply, 1, 0) == 1;
    return LK_OK;
}

static lk_status
take_pass(void *data, const lk__request *request, const redisReply *reply)
{
    struct force_answer *answer = data;

    (void)request;
    answer->more = lk__reply_integer_at(reply, 0, 0) == 1;
    return LK_OK;
}

/* If the passing on fails, the next re-check of a waiter goes on with it. */
static lk_status force(lk__place *place)
{
    struct force_answer answer = {false, false};
    lk_status status = lk__ask_script(place, place->kind->force, "", 0, NULL,
                                      take_force, &answer);

    if (status != LK_OK)
        return status;
    while (answer.more && lk__ask_script(place, place->kind->pass, "", 0, NULL,
                                         take_pass, &answer) == LK_OK) {
    }
    return answer.was_held ? LK_OK : LK_ENOTHELD;
}

lk_status lk_lock_force_release(lk_lock *lock)
{
    lk_status status = lock_check(lock, lock);

    if (status == LK_OK)
        status = lk__client_enter_blocking(lock->place->client);
    if (status != LK_OK)
        return status;
    status = force(lock->place);
    lk__client_leave(lock->place->client);
    return status;
}

static lk_status
take_exists(void *data, const lk__request *request, const redisReply *reply)
{
    bool *locked = data;

    (void)request;
    if (reply->type != REDIS_REPLY_INTEGER)
        return LK_EPROTO;
    *locked = reply->integer == 1;
    return LK_OK;
}

lk_status lk_lock_is_locked(lk_lock *lock, bool *ret_locked)
{
    lk_status status = lock_check(lock, ret_locked);
    lk__arg args[2] = {lk__arg_text("EXISTS")};

    if (status == LK_OK)
        status = lk__client_enter_blocking(lock->place->client);
    if (status != LK_OK)
        return status;
    args[1] = lk__arg_text(lock->place->name);
    status =
        lk__ask_command(lock->place->client, 2, args, take_exists, ret_locked);
    lk__client_leave(lock->place->client);
    return status;
}

lk_status lk_lock_info(lk_lock *lock, lk_info **ret_info)
{
    lk_status status = lock_check(lock, ret_info);

    if (status == LK_OK)
        status = lk__client_enter_blocking(lock->place->client);
    if (status != LK_OK)
        return status;
    status = lk__info_ask(lock->place, ret_info);
    lk__client_leave(lock->place->client);
    return status;
}
