/* SPDX-License-Identifier: MIT */

/* Force-release and the question whether a name is held. */

#include "core/operate.h"

#include "core/ask.h"
#include "core/reply.h"

/* ---- force ----------------------------------------------------------------- */

struct force {
    lk__ask ask; /* first */
    bool was_held;
    lk_done_cb cb;
    void *data;
};

/* The first answer is of the force, those after it of the passing on. */
static lk_status
force_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct force *force = (struct force *)(void *)ask;
    bool is_first = ask->script == ask->place->kind->force;

    if (is_first)
        force->was_held = lk__reply_integer_at(reply, 0, 0) == 1;
    *ret_more = lk__reply_integer_at(reply, is_first ? 1 : 0, 0) == 1;
    if (*ret_more && is_first)
        return lk__ask_script(ask, ask->place->kind->pass, "", 0, NULL);
    return *ret_more || force->was_held ? LK_OK : LK_ENOTHELD;
}

static lk_status force_new(struct force **ret_force, lk__place *place,
                           const char *owner, void (*deliver)(lk__call *call))
{
    struct force *force =
        (struct force *)(void *)lk__ask_new(sizeof(*force), place->client,
                                            place, deliver);

    if (force == NULL)
        return LK_ENOMEM;
    force->ask.take = force_take;
    if (lk__ask_script(&force->ask, place->kind->force, owner, 0, NULL) !=
        LK_OK) {
        lk__ask_release(&force->ask);
        return LK_ENOMEM;
    }
    *ret_force = force;
    return LK_OK;
}

lk_status lk__force(lk__place *place, const char *owner)
{
    struct force *force;
    lk_status status = force_new(&force, place, owner, NULL);

    if (status != LK_OK)
        return status;
    lk__ask_begin(&force->ask);
    status = lk__ask_sleep(&force->ask);
    lk__ask_release(&force->ask);
    return status;
}

static void force_deliver(lk__call *call)
{
    struct force *force = (struct force *)(void *)lk__ask_of_call(call);

    force->cb(call->status, force->data);
    lk__ask_finish(&force->ask);
}

lk_status
lk__force_async(lk__place *place, const char *owner, lk_done_cb cb, void *data)
{
    struct force *force;
    lk_status status = force_new(&force, place, owner, force_deliver);

    if (status != LK_OK)
        return status;
    force->cb = cb;
    force->data = data;
    lk__ask_begin(&force->ask);
    return LK_OK;
}

/* ---- exists ------------------------------------------------------------------ */

struct existence {
    lk__ask ask; /* first */
    bool exists;
    void (*cb)(lk_status status, bool exists, void *data);
    void *data;
};

static lk_status
existence_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct existence *existence = (struct existence *)(void *)ask;

    *ret_more = false;
    if (reply->type != REDIS_REPLY_INTEGER)
        return LK_EPROTO;
    existence->exists = reply->integer == 1;
    return LK_OK;
}

static lk_status existence_new(struct existence **ret_existence,
                               lk__place *place,
                               void (*deliver)(lk__call *call))
{
    struct existence *existence =
        (struct existence *)(void *)lk__ask_new(sizeof(*existence),
                                                place->client, place, deliver);
    lk__arg args[2] = {lk__arg_text("EXISTS"),
                       lk__arg_text(place->keys[LK__KEY_NAME])};

    if (existence == NULL)
        return LK_ENOMEM;
    existence->ask.reads = true;
    existence->ask.take = existence_take;
    if (lk__ask_command(&existence->ask, 2, args) != LK_OK) {
        lk__ask_release(&existence->ask);
        return LK_ENOMEM;
    }
    *ret_existence = existence;
    return LK_OK;
}

lk_status lk__exists(lk__place *place, bool *ret_exists)
{
    struct existence *existence;
    lk_status status = existence_new(&existence, place, NULL);

    if (status != LK_OK)
        return status;
    lk__ask_begin(&existence->ask);
    status = lk__ask_sleep(&existence->ask);
    if (status == LK_OK)
        *ret_exists = existence->exists;
    lk__ask_release(&existence->ask);
    return status;
}

static void existence_deliver(lk__call *call)
{
    struct existence *existence =
        (struct existence *)(void *)lk__ask_of_call(call);

    existence->cb(call->status, existence->exists, existence->data);
    lk__ask_finish(&existence->ask);
}

lk_status
lk__exists_async(lk__place *place,
                 void (*cb)(lk_status status, bool exists, void *data),
                 void *data)
{
    struct existence *existence;
    lk_status status = existence_new(&existence, place, existence_deliver);

    if (status != LK_OK)
        return status;
    existence->cb = cb;
    existence->data = data;
    lk__ask_begin(&existence->ask);
    return LK_OK;
}
