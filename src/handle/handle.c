/* SPDX-License-Identifier: MIT */

/* Handles: what the public functions of all primitives have in common. */

#include "handle/handle.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/info.h"
#include "claims/operate.h"
#include "claims/transfer.h"

/* ---- new and free ------------------------------------------------------------ */

lk_status lk__handle_new(lk__handle **ret_handle, size_t size,
                         lk_client *client, const lk__kind *kind,
                         const char *name)
{
    lk__handle *handle;
    lk_status status = lk__name_check(name);

    if (ret_handle == NULL)
        return lk__fail(LK_EINVAL, "the place for the handle is NULL");
    if (status == LK_OK)
        status = lk__client_enter(client);
    if (status != LK_OK)
        return status;

    handle = lk__alloc(size);
    if (handle != NULL)
        handle->place = lk__place_get(client, kind, name);
    lk__client_leave(client);
    if (handle == NULL || handle->place == NULL) {
        lk__free(handle);
        return LK_ENOMEM;
    }
    lk__client_ref(client);
    *ret_handle = handle;
    return LK_OK;
}

void lk__handle_free(lk__handle *handle)
{
    lk_client *client;

    if (handle == NULL || lk__client_check(handle->place->client) != LK_OK)
        return;
    client = handle->place->client;
    lk__client_lock(client);
    lk__place_unref(handle->place);
    lk__client_leave(client);
    lk__free(handle);
    lk__client_unref(client);
}

/* ---- checks -------------------------------------------------------------------- */

lk_status lk__handle_check(const lk__handle *handle, const void *ret)
{
    if (handle == NULL)
        return lk__fail(LK_EINVAL, "the handle is NULL");
    if (ret == NULL)
        return lk__fail(LK_EINVAL, "the place for the result is NULL");
    return lk__client_check(handle->place->client);
}

lk_status lk__handle_enter(const lk__handle *handle, const void *ret,
                           lk__place **ret_place)
{
    lk_status status = lk__handle_check(handle, ret);

    if (status == LK_OK)
        status = lk__client_enter_blocking(handle->place->client);
    if (status != LK_OK)
        return status;
    *ret_place = handle->place;
    (*ret_place)->refs++;
    return LK_OK;
}

void lk__handle_leave(lk__place *place)
{
    lk_client *client = place->client;

    lk__place_unref(place);
    lk__client_leave_blocking(client);
}

lk_status lk__handle_enter_async(const lk__handle *handle, bool has_cb)
{
    lk_status status = lk__handle_check(handle, handle);

    if (status != LK_OK)
        return status;
    if (!has_cb)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    return lk__client_enter(handle->place->client);
}

void lk__handle_leave_async(const lk__handle *handle)
{
    lk__client_leave(handle->place->client);
}

/* ---- holds ----------------------------------------------------------------- */

lk_status lk__handle_import(const lk__handle *handle, const char *text,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold)
{
    lk_status status = lk__handle_check(handle, ret_hold);

    return status != LK_OK ? status
                           : lk__import(handle->place, text, options, ret_hold);
}

lk_status lk__handle_run(lk_hold *hold, lk_run_fn fn, void *data)
{
    lk_status status = fn(hold, data);
    lk_status released = lk_hold_release(hold);

    return released == LK_ELOST || released == LK_ECLOSED ? LK_ELOST : status;
}

/* ---- operators ---------------------------------------------------------------- */

lk_status
lk__handle_force_by(const lk__handle *handle, const char *owner, uint64_t until)
{
    lk__place *place;
    lk_status status = lk__handle_enter(handle, handle, &place);

    if (status != LK_OK)
        return status;
    status = lk__force(place, owner != NULL ? owner : "", until);
    lk__handle_leave(place);
    return status;
}

lk_status lk__handle_force(const lk__handle *handle, const char *owner)
{
    return lk__handle_force_by(handle, owner, LK__NEVER);
}

lk_status lk__handle_force_by_async(const lk__handle *handle, const char *owner,
                                    uint64_t until, lk_done_cb cb, void *data)
{
    lk_status status = lk__handle_enter_async(handle, cb != NULL);

    if (status != LK_OK)
        return status;
    status = lk__force_async(handle->place, owner != NULL ? owner : "", until,
                             cb, data);
    lk__handle_leave_async(handle);
    return status;
}

lk_status lk__handle_force_async(const lk__handle *handle, const char *owner,
                                 lk_done_cb cb, void *data)
{
    return lk__handle_force_by_async(handle, owner, LK__NEVER, cb, data);
}

lk_status lk__handle_revoke_by(const lk__handle *handle, const char *owner,
                               uint64_t until, int64_t *ret_left_ms)
{
    lk__place *place;
    lk_status status = lk__owner_check(owner);

    if (status == LK_OK)
        status = lk__handle_enter(handle, ret_left_ms, &place);
    if (status != LK_OK)
        return status;
    status = lk__revoke(place, owner, until, ret_left_ms);
    lk__handle_leave(place);
    return status;
}

lk_status lk__handle_revoke(const lk__handle *handle, const char *owner,
                            int64_t *ret_left_ms)
{
    return lk__handle_revoke_by(handle, owner, LK__NEVER, ret_left_ms);
}

lk_status lk__handle_revoke_by_async(const lk__handle *handle,
                                     const char *owner, uint64_t until,
                                     lk_revoke_cb cb, void *data)
{
    lk_status status = lk__owner_check(owner);

    if (status == LK_OK)
        status = lk__handle_enter_async(handle, cb != NULL);
    if (status != LK_OK)
        return status;
    status = lk__revoke_async(handle->place, owner, until, cb, data);
    lk__handle_leave_async(handle);
    return status;
}

lk_status lk__handle_revoke_async(const lk__handle *handle, const char *owner,
                                  lk_revoke_cb cb, void *data)
{
    return lk__handle_revoke_by_async(handle, owner, LK__NEVER, cb, data);
}

lk_status lk__handle_forget_by(const lk__handle *handle, uint64_t until)
{
    lk__place *place;
    lk_status status = lk__handle_enter(handle, handle, &place);

    if (status != LK_OK)
        return status;
    status = lk__forget(place, until);
    lk__handle_leave(place);
    return status;
}

lk_status lk__handle_forget_by_async(const lk__handle *handle, uint64_t until,
                                     lk_done_cb cb, void *data)
{
    lk_status status = lk__handle_enter_async(handle, cb != NULL);

    if (status != LK_OK)
        return status;
    status = lk__forget_async(handle->place, until, cb, data);
    lk__handle_leave_async(handle);
    return status;
}

lk_status lk__handle_exists(const lk__handle *handle, bool *ret_exists)
{
    lk__place *place;
    lk_status status = lk__handle_enter(handle, ret_exists, &place);

    if (status != LK_OK)
        return status;
    status = lk__exists(place, ret_exists);
    lk__handle_leave(place);
    return status;
}

lk_status
lk__handle_exists_async(const lk__handle *handle,
                        void (*cb)(lk_status status, bool exists, void *data),
                        void *data)
{
    lk_status status = lk__handle_enter_async(handle, cb != NULL);

    if (status != LK_OK)
        return status;
    status = lk__exists_async(handle->place, cb, data);
    lk__handle_leave_async(handle);
    return status;
}

lk_status
lk__handle_info_by(const lk__handle *handle, uint64_t until, lk_info **ret_info)
{
    lk__place *place;
    lk_status status = lk__handle_enter(handle, ret_info, &place);

    if (status != LK_OK)
        return status;
    status = lk__info_ask(place, until, ret_info);
    lk__handle_leave(place);
    return status;
}

lk_status lk__handle_info(const lk__handle *handle, lk_info **ret_info)
{
    return lk__handle_info_by(handle, LK__NEVER, ret_info);
}

lk_status lk__handle_info_by_async(const lk__handle *handle, uint64_t until,
                                   lk_info_cb cb, void *data)
{
    lk_status status = lk__handle_enter_async(handle, cb != NULL);

    if (status != LK_OK)
        return status;
    status = lk__info_ask_async(handle->place, until, cb, data);
    lk__handle_leave_async(handle);
    return status;
}

lk_status
lk__handle_info_async(const lk__handle *handle, lk_info_cb cb, void *data)
{
    return lk__handle_info_by_async(handle, LK__NEVER, cb, data);
}
