/* SPDX-License-Identifier: MIT */

/* Who holds and who waits, ending a hold, and forgetting, for a name of whatever
   kind. */

#include <latchkey/inspect.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "inspect/any.h"
#include "inspect/find.h"

static lk_status any_find(lk__any *any, lk_client *client, const char *name,
                          lk_kind *ret_kind, uint64_t *ret_until)
{
    lk_status status = lk__find(client, name, ret_kind, ret_until);

    return status != LK_OK ? status : lk__any_new(any, client, *ret_kind, name);
}

lk_status lk_who(lk_client *client, const char *name, lk_kind *ret_kind,
                 lk_info **ret_info)
{
    lk__any any;
    lk_kind kind;
    uint64_t until;
    lk_status status;

    if (ret_kind == NULL || ret_info == NULL)
        return lk__fail(LK_EINVAL, "the place for the result is NULL");
    status = any_find(&any, client, name, &kind, &until);
    if (status != LK_OK)
        return status;
    status = lk__any_info(&any, until, ret_info);
    if (status == LK_OK)
        *ret_kind = kind;
    lk__any_free(&any);
    return status;
}

lk_status lk_break(lk_client *client, const char *name, const char *owner)
{
    lk__any any;
    lk_kind kind;
    uint64_t until;
    lk_status status = lk__owner_check(owner);

    if (status == LK_OK)
        status = any_find(&any, client, name, &kind, &until);
    if (status != LK_OK)
        return status;
    status = lk__any_break(&any, owner, until);
    lk__any_free(&any);
    return status;
}

lk_status lk_revoke(lk_client *client, const char *name, const char *owner,
                    int64_t *ret_left_ms)
{
    lk__any any;
    lk_kind kind;
    uint64_t until;
    lk_status status = lk__owner_check(owner);

    if (status == LK_OK && ret_left_ms == NULL)
        status = lk__fail(LK_EINVAL, "the place for the result is NULL");
    if (status == LK_OK)
        status = any_find(&any, client, name, &kind, &until);
    if (status != LK_OK)
        return status;
    status = lk__any_revoke(&any, owner, until, ret_left_ms);
    lk__any_free(&any);
    return status;
}

lk_status lk_forget(lk_client *client, const char *name)
{
    lk__any any;
    lk_kind kind;
    uint64_t until;
    lk_status status = any_find(&any, client, name, &kind, &until);

    if (status != LK_OK)
        return status;
    status = lk__any_forget(&any, until);
    lk__any_free(&any);
    return status;
}

/* ---- async ------------------------------------------------------------------ */

/* One call of any sort; texts are copies. */
struct asking {
    lk_client *client;
    lk__any any;
    char *name;
    char *owner; /* of a break or a revocation; else NULL */
    lk_who_cb who;
    lk_done_cb done;      /* of a break, or of forgetting */
    lk_revoke_cb revoked; /* of a revocation */
    int64_t left_ms;
    void *data;
};

static void asking_free(struct asking *asking)
{
    lk__any_free(&asking->any);
    lk__free(asking->name);
    lk__free(asking->owner);
    lk__free(asking);
}

static void asking_end(struct asking *asking, lk_status status, lk_info *info)
{
    if (asking->revoked != NULL)
        asking->revoked(status, asking->left_ms, asking->data);
    else if (asking->done != NULL)
        asking->done(status, asking->data);
    else
        asking->who(status, asking->any.kind, info, asking->data);
    asking_free(asking);
}

static void on_info(lk_status status, lk_info *info, void *data)
{
    asking_end(data, status, info);
}

static void on_done(lk_status status, void *data)
{
    asking_end(data, status, NULL);
}

static void on_revoked(lk_status status, int64_t left_ms, void *data)
{
    struct asking *asking = data;

    asking->left_ms = left_ms;
    asking_end(asking, status, NULL);
}

/* Asks what it came for, of the name that was found. */
static lk_status ask(struct asking *asking, uint64_t until)
{
    if (asking->revoked != NULL)
        return lk__any_revoke_async(&asking->any, asking->owner, until,
                                    on_revoked, asking);
    if (asking->done != NULL && asking->owner == NULL)
        return lk__any_forget_async(&asking->any, until, on_done, asking);
    if (asking->done != NULL)
        return lk__any_break_async(&asking->any, asking->owner, until, on_done,
                                   asking);
    return lk__any_info_async(&asking->any, until, on_info, asking);
}

static void on_found(lk_status status, lk_kind kind, uint64_t until, void *data)
{
    struct asking *asking = data;

    if (status == LK_OK)
        status = lk__any_new(&asking->any, asking->client, kind, asking->name);
    if (status == LK_OK)
        status = ask(asking, until);
    if (status != LK_OK)
        asking_end(asking, status, NULL);
}

/* owner NULL: it is about none. Unless LK_OK, it was freed. */
static lk_status
asking_begin(struct asking *asking, const char *name, const char *owner)
{
    lk_status status = LK_ENOMEM;

    asking->name = lk__strdup(name);
    asking->owner = owner != NULL ? lk__strdup(owner) : NULL;
    if (asking->name != NULL && (owner == NULL || asking->owner != NULL))
        status = lk__find_async(asking->client, asking->name, on_found, asking);
    if (status != LK_OK)
        asking_free(asking);
    return status;
}

static lk_status asking_new(struct asking **ret_asking, lk_client *client,
                            const char *name, bool has_cb)
{
    lk_status status = lk__name_check(name);

    if (status == LK_OK && !has_cb)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status != LK_OK)
        return status;
    *ret_asking = lk__alloc(sizeof(**ret_asking));
    if (*ret_asking == NULL)
        return LK_ENOMEM;
    (*ret_asking)->client = client;
    return LK_OK;
}

lk_status
lk_who_async(lk_client *client, const char *name, lk_who_cb cb, void *data)
{
    struct asking *asking;
    lk_status status = asking_new(&asking, client, name, cb != NULL);

    if (status != LK_OK)
        return status;
    asking->who = cb;
    asking->data = data;
    return asking_begin(asking, name, NULL);
}

lk_status lk_break_async(lk_client *client, const char *name, const char *owner,
                         lk_done_cb cb, void *data)
{
    struct asking *asking;
    lk_status status = lk__owner_check(owner);

    if (status == LK_OK)
        status = asking_new(&asking, client, name, cb != NULL);
    if (status != LK_OK)
        return status;
    asking->done = cb;
    asking->data = data;
    return asking_begin(asking, name, owner);
}

lk_status lk_revoke_async(lk_client *client, const char *name,
                          const char *owner, lk_revoke_cb cb, void *data)
{
    struct asking *asking;
    lk_status status = lk__owner_check(owner);

    if (status == LK_OK)
        status = asking_new(&asking, client, name, cb != NULL);
    if (status != LK_OK)
        return status;
    asking->revoked = cb;
    asking->data = data;
    return asking_begin(asking, name, owner);
}

lk_status
lk_forget_async(lk_client *client, const char *name, lk_done_cb cb, void *data)
{
    struct asking *asking;
    lk_status status = asking_new(&asking, client, name, cb != NULL);

    if (status != LK_OK)
        return status;
    asking->done = cb;
    asking->data = data;
    return asking_begin(asking, name, NULL);
}
