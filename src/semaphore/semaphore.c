/* SPDX-License-Identifier: MIT */

/*
 * Leased permits: Redisson's counter `N` of those that are free and its zset
 * `{N}:timeout` of those that are taken, and beside them who has them and who
 * waits. Each wait has a claim of its own, and a claim's permits follow from
 * its id; so the core holds, renews and releases them like a lock.
 */

#include <latchkey/semaphore.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "engine/client.h"
#include "handle/handle.h"
#include "semaphore/operate.h"
#include "semaphore/protocol.h"
#include "semaphore_table.h"

static const lk__kind kind = {
    .word = "semaphore",
    .has = "has",
    .has_what = " permits",
    .mode = "p",
    .family = "semaphore",
    .protocol = &lk__protocol_semaphore,
    .counts = true,
    .key_count = LK__SEMAPHORE_KEYS,
    .keys = lk__semaphore_keys,
    .channel = "redisson_sc",
};

/*
 * Whether N was compared with what the handle's options say. An acquire may
 * outlive the handle, so each has a share in it, as the handle has.
 */
typedef struct agreement {
    _Atomic unsigned refs;
    _Atomic bool is_reached;
} agreement;

struct lk_semaphore {
    lk__handle handle; /* first */
    lk_semaphore_options options;
    agreement *agreement;
};

static const lk__handle *handle_of(const lk_semaphore *semaphore)
{
    return (const lk__handle *)(const void *)semaphore;
}

/* ---- new and free ------------------------------------------------------------ */

static agreement *agreement_new(void)
{
    agreement *fresh = lk__alloc(sizeof(*fresh));

    if (fresh != NULL)
        fresh->refs = 1;
    return fresh;
}

static agreement *agreement_ref(agreement *shared)
{
    shared->refs++;
    return shared;
}

static void agreement_unref(agreement *shared)
{
    if (--shared->refs == 0)
        lk__free(shared);
}

/* Only who got permits, or could not get them for others, was compared. */
static void agreement_note(agreement *shared, lk_status status)
{
    if (status == LK_OK || status == LK_EBUSY)
        shared->is_reached = true;
}

static lk_status options_check(const lk_semaphore_options *options)
{
    if (options->permits > LK_SEMAPHORE_MAX)
        return lk__fail(LK_ERANGE, "so many permits there cannot be");
    if (options->resize > 1)
        return lk__fail(LK_EINVAL, "resize is neither 0 nor 1");
    if (options->resize == 1 && options->permits == 0)
        return lk__fail(LK_EINVAL, "resize needs a number of permits");
    return options->lease_ms == 0 ? LK_OK : lk__lease_check(options->lease_ms);
}

lk_status lk_semaphore_new(lk_semaphore **ret_semaphore, lk_client *client,
                           const char *name,
                           const lk_semaphore_options *options)
{
    lk_semaphore_options copy;
    agreement *shared;
    lk__handle *handle;
    lk_status status;

    if (ret_semaphore == NULL)
        return lk__fail(LK_EINVAL, "ret_semaphore is NULL");
    status = lk__options_copy(&copy, sizeof(copy), options);
    if (status == LK_OK)
        status = options_check(&copy);
    if (status != LK_OK)
        return status;

    shared = agreement_new();
    if (shared == NULL)
        return LK_ENOMEM;
    status = lk__handle_new(&handle, sizeof(lk_semaphore), client, &kind, name);
    if (status != LK_OK) {
        agreement_unref(shared);
        return status;
    }
    *ret_semaphore = (lk_semaphore *)(void *)handle;
    (*ret_semaphore)->options = copy;
    (*ret_semaphore)->agreement = shared;
    return LK_OK;
}

void lk_semaphore_free(lk_semaphore *semaphore)
{
    agreement *shared;

    if (semaphore == NULL ||
        lk__handle_check(handle_of(semaphore), semaphore) != LK_OK)
        return;
    shared = semaphore->agreement;
    lk__handle_free((lk__handle *)(void *)semaphore);
    agreement_unref(shared);
}

/* ---- acquire ----------------------------------------------------------------- */

/* What the server is to do about N; see lua/semaphore/acquire.lua. */
static const char *text_of(const lk_semaphore *semaphore)
{
    if (semaphore->options.permits == 0)
        return NULL;
    if (semaphore->agreement->is_reached)
        return "set";
    return semaphore->options.resize == 1 ? "resize" : "check";
}

/* Redisson has one key of leases for `x` and `{x}`: what is taken back from it
   would go to either, and one of them would have more than N. */
static bool is_one_tag(const char *name)
{
    return name[0] == '{' && name[strcspn(name, "}") + 1] == '\0';
}

static lk_status wish_make(lk__wish *ret_wish, const lk_semaphore *semaphore,
                           uint64_t count, int64_t wait_ms,
                           const lk_acquire_options *options)
{
    lk_status status = lk__handle_check(handle_of(semaphore), semaphore);

    if (status != LK_OK)
        return status;
    if (count == 0)
        return lk__fail(LK_EINVAL, "the count is 0");
    if (count > LK_SEMAPHORE_MAX_COUNT)
        return lk__fail(LK_ERANGE, "one hold cannot have so many permits");
    if (is_one_tag(semaphore->handle.place->name))
        return lk__fail(LK_EINVAL, "the name is a tag and nothing else: "
                                   "without its braces it is another "
                                   "semaphore, on the same key of leases");

    *ret_wish = (lk__wish){.place = semaphore->handle.place,
                           .wait_ms = wait_ms,
                           .default_lease_ms = semaphore->options.lease_ms,
                           .options = options,
                           .line = LK__LINE_OWN,
                           .terms = {.need = count,
                                     .number = semaphore->options.permits,
                                     .text = text_of(semaphore)}};
    return LK_OK;
}

lk_status
lk_semaphore_acquire(lk_semaphore *semaphore, uint64_t count, int64_t wait_ms,
                     const lk_acquire_options *options, lk_hold **ret_hold)
{
    agreement *shared; /* the handle may be freed meanwhile */
    lk__wish wish;
    lk_status status = wish_make(&wish, semaphore, count, wait_ms, options);

    if (status == LK_OK && ret_hold == NULL)
        status = lk__fail(LK_EINVAL, "ret_hold is NULL");
    if (status != LK_OK)
        return status;
    shared = agreement_ref(semaphore->agreement);
    status = lk__wait_acquire(&wish, ret_hold);
    agreement_note(shared, status);
    agreement_unref(shared);
    return status;
}

struct acquiring {
    agreement *agreement;
    lk_acquire_cb cb;
    void *data;
};

static void on_acquired(lk_status status, lk_hold *hold, void *data)
{
    struct acquiring *acquiring = data;
    lk_acquire_cb cb = acquiring->cb;
    void *its_data = acquiring->data;

    agreement_note(acquiring->agreement, status);
    agreement_unref(acquiring->agreement);
    lk__free(acquiring);
    cb(status, hold, its_data);
}

lk_status lk_semaphore_acquire_async(lk_semaphore *semaphore, uint64_t count,
                                     int64_t wait_ms,
                                     const lk_acquire_options *options,
                                     lk_acquire_cb cb, void *data)
{
    struct acquiring *acquiring;
    lk__wish wish;
    lk_status status = wish_make(&wish, semaphore, count, wait_ms, options);

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status != LK_OK)
        return status;
    acquiring = lk__alloc(sizeof(*acquiring));
    if (acquiring == NULL)
        return LK_ENOMEM;
    acquiring->agreement = agreement_ref(semaphore->agreement);
    acquiring->cb = cb;
    acquiring->data = data;
    status = lk__wait_acquire_async(&wish, on_acquired, acquiring);
    if (status != LK_OK) {
        agreement_unref(acquiring->agreement);
        lk__free(acquiring);
    }
    return status;
}

lk_status lk_semaphore_run(lk_semaphore *semaphore, uint64_t count,
                           int64_t wait_ms, const lk_acquire_options *options,
                           lk_run_fn fn, void *data)
{
    lk_hold *hold;
    lk_status status;

    if (fn == NULL)
        return lk__fail(LK_EINVAL, "the function is NULL");
    status = lk_semaphore_acquire(semaphore, count, wait_ms, options, &hold);
    return status != LK_OK ? status : lk__handle_run(hold, fn, data);
}

lk_status lk_semaphore_import(lk_semaphore *semaphore, const char *text,
                              const lk_acquire_options *options,
                              lk_hold **ret_hold)
{
    return lk__handle_import(handle_of(semaphore), text, options, ret_hold);
}

/* ---- operators ---------------------------------------------------------------- */

static lk_status operate(const lk_semaphore *semaphore,
                         const lk__operation *operation,
                         lk__numbers *ret_numbers)
{
    lk__place *place;
    lk_status status =
        lk__handle_enter(handle_of(semaphore), semaphore, &place);

    if (status != LK_OK)
        return status;
    status = lk__operate(place, operation, ret_numbers);
    lk__handle_leave(place);
    return status;
}

static lk_status operate_async(const lk_semaphore *semaphore,
                               const lk__operation *operation, lk_done_cb done,
                               lk_semaphore_count_cb count, void *data)
{
    lk_status status = lk__handle_enter_async(handle_of(semaphore),
                                              done != NULL || count != NULL);

    if (status != LK_OK)
        return status;
    status = lk__operate_async(semaphore->handle.place, operation, done, count,
                               data);
    lk__handle_leave_async(handle_of(semaphore));
    return status;
}

static lk_status resizing(lk__operation *ret_operation, uint64_t permits)
{
    if (permits > LK_SEMAPHORE_MAX)
        return lk__fail(LK_ERANGE, "so many permits there cannot be");
    *ret_operation = (lk__operation){.resizes = true, .permits = permits};
    return LK_OK;
}

lk_status lk_semaphore_resize(lk_semaphore *semaphore, uint64_t permits)
{
    lk__operation operation;
    lk_status status = resizing(&operation, permits);

    return status != LK_OK ? status : operate(semaphore, &operation, NULL);
}

lk_status lk_semaphore_resize_async(lk_semaphore *semaphore, uint64_t permits,
                                    lk_done_cb cb, void *data)
{
    lk__operation operation;
    lk_status status = resizing(&operation, permits);

    return status != LK_OK
               ? status
               : operate_async(semaphore, &operation, cb, NULL, data);
}

static const lk__operation counting = {.resizes = false};

lk_status lk_semaphore_count(lk_semaphore *semaphore, uint64_t *ret_permits,
                             int64_t *ret_free)
{
    lk__numbers numbers;
    lk_status status;

    if (ret_permits == NULL || ret_free == NULL)
        return lk__fail(LK_EINVAL, "the place for a number is NULL");
    status = operate(semaphore, &counting, &numbers);
    if (status != LK_OK)
        return status;
    *ret_permits = numbers.permits;
    *ret_free = numbers.free;
    return LK_OK;
}

lk_status lk_semaphore_count_async(lk_semaphore *semaphore,
                                   lk_semaphore_count_cb cb, void *data)
{
    return operate_async(semaphore, &counting, NULL, cb, data);
}

lk_status lk_semaphore_revoke(lk_semaphore *semaphore, const char *owner,
                              int64_t *ret_left_ms)
{
    return lk__handle_revoke(handle_of(semaphore), owner, ret_left_ms);
}

lk_status lk_semaphore_revoke_async(lk_semaphore *semaphore, const char *owner,
                                    lk_revoke_cb cb, void *data)
{
    return lk__handle_revoke_async(handle_of(semaphore), owner, cb, data);
}

static lk_status owner_check(const char *owner)
{
    if (owner != NULL && owner[0] == '\0')
        return lk__fail(LK_EINVAL, "the owner is empty; NULL means everybody");
    return LK_OK;
}

lk_status lk_semaphore_force_release(lk_semaphore *semaphore, const char *owner)
{
    lk_status status = owner_check(owner);

    return status != LK_OK ? status
                           : lk__handle_force(handle_of(semaphore), owner);
}

lk_status lk_semaphore_force_release_async(lk_semaphore *semaphore,
                                           const char *owner, lk_done_cb cb,
                                           void *data)
{
    lk_status status = owner_check(owner);

    return status != LK_OK
               ? status
               : lk__handle_force_async(handle_of(semaphore), owner, cb, data);
}

lk_status lk_semaphore_info(lk_semaphore *semaphore, lk_info **ret_info)
{
    return lk__handle_info(handle_of(semaphore), ret_info);
}

lk_status
lk_semaphore_info_async(lk_semaphore *semaphore, lk_info_cb cb, void *data)
{
    return lk__handle_info_async(handle_of(semaphore), cb, data);
}
