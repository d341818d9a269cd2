/* SPDX-License-Identifier: MIT */

/* Force-release, revocation, forgetting, and whether a name is held. */

#include "core/operate.h"

#include <inttypes.h>
#include <stdio.h>

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

lk_status lk__force(lk__place *place, const char *owner, uint64_t until)
{
    struct force *force;
    lk_status status = force_new(&force, place, owner, NULL);

    if (status != LK_OK)
        return status;
    lk__ask_begin_by(&force->ask, until);
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

lk_status lk__force_async(lk__place *place, const char *owner, uint64_t until,
                          lk_done_cb cb, void *data)
{
    struct force *force;
    lk_status status = force_new(&force, place, owner, force_deliver);

    if (status != LK_OK)
        return status;
    force->cb = cb;
    force->data = data;
    lk__ask_begin_by(&force->ask, until);
    return LK_OK;
}

/* ---- revoke ---------------------------------------------------------------- */

struct revocation {
    lk__ask ask; /* first */
    int64_t left_ms;
    lk_revoke_cb cb;
    void *data;
};

/* A hold that cannot be told may be renewed: there is no end to be named. */
static lk_status
revocation_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct revocation *revocation = (struct revocation *)(void *)ask;
    bool is_told = lk__reply_integer_at(reply, 2, 0) == 1;

    *ret_more = false;
    if (lk__reply_integer_at(reply, 0, 0) != 1)
        return LK_ENOTHELD;
    revocation->left_ms =
        is_told ? lk__reply_integer_at(reply, 1, LK_FOREVER) : LK_FOREVER;
    return LK_OK;
}

/* NULL: out of memory. */
static struct revocation *revocation_new(lk__place *place, const char *owner,
                                         void (*deliver)(lk__call *call))
{
    struct revocation *revocation =
        (struct revocation *)(void *)lk__ask_new(sizeof(*revocation),
                                                 place->client, place, deliver);

    if (revocation == NULL)
        return NULL;
    revocation->left_ms = LK_FOREVER;
    revocation->ask.repeats = true;
    revocation->ask.take = revocation_take;
    if (lk__ask_script(&revocation->ask, place->kind->revoke, owner, 0, NULL) ==
        LK_OK)
        return revocation;
    lk__ask_release(&revocation->ask);
    return NULL;
}

lk_status lk__revoke(lk__place *place, const char *owner, uint64_t until,
                     int64_t *ret_left_ms)
{
    struct revocation *revocation = revocation_new(place, owner, NULL);
    lk_status status;

    if (revocation == NULL)
        return LK_ENOMEM;
    lk__ask_begin_by(&revocation->ask, until);
    status = lk__ask_sleep(&revocation->ask);
    if (status == LK_OK)
        *ret_left_ms = revocation->left_ms;
    lk__ask_release(&revocation->ask);
    return status;
}

static void revocation_deliver(lk__call *call)
{
    struct revocation *revocation =
        (struct revocation *)(void *)lk__ask_of_call(call);

    revocation->cb(call->status, revocation->left_ms, revocation->data);
    lk__ask_finish(&revocation->ask);
}

lk_status lk__revoke_async(lk__place *place, const char *owner, uint64_t until,
                           lk_revoke_cb cb, void *data)
{
    struct revocation *revocation =
        revocation_new(place, owner, revocation_deliver);

    if (revocation == NULL)
        return LK_ENOMEM;
    revocation->cb = cb;
    revocation->data = data;
    lk__ask_begin_by(&revocation->ask, until);
    return LK_OK;
}

/* ---- forget ---------------------------------------------------------------- */

struct forgetting {
    lk__ask ask; /* first */
    char words[160];
    lk_done_cb cb;
    void *data;
};

/* What the scripts answer; see lua/part_forget.lua. */
enum { FORGET_NOTHING, FORGET_DONE, FORGET_HELD, FORGET_WAITED, FORGET_SET };

static void held_words(struct forgetting *forgetting, const redisReply *reply)
{
    const char *owner = lk__reply_text_at(reply, 1);
    int64_t left_ms = lk__reply_integer_at(reply, 2, -1);

    if (left_ms < 0)
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "%.80s holds it, and its lease has no end", owner);
    else
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "%.80s holds it; its lease ends in %" PRId64 " ms", owner,
                 left_ms);
}

static void waited_words(struct forgetting *forgetting, int64_t count)
{
    if (count == 1)
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "somebody waits for it, or did a moment ago");
    else
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "%" PRId64 " wait for it, or did a moment ago", count);
}

static void busy_words(struct forgetting *forgetting, const redisReply *reply)
{
    int64_t code = lk__reply_integer_at(reply, 0, -1);
    int64_t number = lk__reply_integer_at(reply, 1, 0);

    if (code == FORGET_HELD)
        held_words(forgetting, reply);
    else if (code == FORGET_WAITED)
        waited_words(forgetting, number);
    else
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "it is set, with %" PRId64 " permits free; nobody knows who "
                 "has the others",
                 number);
    forgetting->ask.words = forgetting->words;
}

static lk_status
forgetting_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct forgetting *forgetting = (struct forgetting *)(void *)ask;
    int64_t code = lk__reply_integer_at(reply, 0, -1);

    *ret_more = false;
    if (code >= FORGET_HELD &&
        !lk__reply_is_number(lk__reply_at(reply, code == FORGET_HELD ? 2 : 1)))
        return LK_EPROTO;
    switch (code) {
    case FORGET_DONE:
        return LK_OK;
    case FORGET_NOTHING:
        ask->words = "nothing is kept under this name";
        return LK_ENOTHELD;
    case FORGET_HELD:
    case FORGET_WAITED:
    case FORGET_SET:
        busy_words(forgetting, reply);
        return LK_EBUSY;
    default:
        return LK_EPROTO;
    }
}

/* NULL: out of memory. */
static struct forgetting *
forgetting_new(lk__place *place, void (*deliver)(lk__call *call))
{
    struct forgetting *forgetting =
        (struct forgetting *)(void *)lk__ask_new(sizeof(*forgetting),
                                                 place->client, place, deliver);

    if (forgetting == NULL)
        return NULL;
    forgetting->ask.take = forgetting_take;
    if (lk__ask_script(&forgetting->ask, place->kind->forget, "", 0, NULL) ==
        LK_OK)
        return forgetting;
    lk__ask_release(&forgetting->ask);
    return NULL;
}

lk_status lk__forget(lk__place *place, uint64_t until)
{
    struct forgetting *forgetting = forgetting_new(place, NULL);
    lk_status status;

    if (forgetting == NULL)
        return LK_ENOMEM;
    lk__ask_begin_by(&forgetting->ask, until);
    status = lk__ask_sleep(&forgetting->ask);
    lk__ask_release(&forgetting->ask);
    return status;
}

static void forgetting_deliver(lk__call *call)
{
    struct forgetting *forgetting =
        (struct forgetting *)(void *)lk__ask_of_call(call);

    forgetting->cb(call->status, forgetting->data);
    lk__ask_finish(&forgetting->ask);
}

lk_status
lk__forget_async(lk__place *place, uint64_t until, lk_done_cb cb, void *data)
{
    struct forgetting *forgetting = forgetting_new(place, forgetting_deliver);

    if (forgetting == NULL)
        return LK_ENOMEM;
    forgetting->cb = cb;
    forgetting->data = data;
    lk__ask_begin_by(&forgetting->ask, until);
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
