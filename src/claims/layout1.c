/* SPDX-License-Identifier: MIT */

/*
 * The scripts that lie in lua/ itself: what each kind has of them gets its keys
 * and the same first arguments. Their heads say what each one answers.
 */

#include "base/mem.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/reply.h"

/* ---- what a kind has ---- */

bool lk__kind_leaves(const lk__kind *kind)
{
    return kind->protocol->is_second ? kind->protocol->leave != NULL
                                     : kind->leave != NULL;
}

bool lk__kind_releases(const lk__kind *kind)
{
    return kind->protocol->is_second ? kind->protocol->release != NULL
                                     : kind->release != NULL;
}

bool lk__kind_hands_on(const lk__kind *kind)
{
    return kind->protocol->hand_on != NULL;
}

bool lk__kinds_renew_alike(const lk__kind *a, const lk__kind *b)
{
    return a->protocol == b->protocol && a->renew == b->renew;
}

/* ---- asking ---- */

lk__question *lk__first_begin(const lk__place *place, const lk__script *script,
                              const char *owner, const char *more_key)
{
    lk_client *client = place->client;
    const lk__kind *kind = place->kind;
    lk__question *q = &client->work->question;

    if (script == NULL || !lk__question_begin(q, script, 0))
        return NULL;
    for (size_t i = 0; i < kind->key_count; i++)
        lk__question_key(q, place->keys[i]);
    if (more_key != NULL)
        lk__question_key(q, more_key);
    lk__question_arg(q, lk__arg_text(owner));
    lk__question_arg(q, lk__arg_text(place->channel));
    lk__question_arg(q, lk__arg_number(client->settings.interop ==
                                       LK_INTEROP_REDISSON));
    return q;
}

static lk__question *first_acquire(const lk__claim *claim, char how)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__first_begin(place, place->kind->acquire, claim->id, NULL);

    (void)how;
    if (q == NULL)
        return NULL;
    lk__question_arg(q, lk__arg_number((int64_t)claim->lease_ms));
    lk__question_arg(q, lk__arg_text("")); /* such claims do not queue */
    lk__question_arg(q, lk__arg_text(place->client->node->channel));
    lk__question_arg(q, lk__arg_text(claim->reason));
    /* Killing may be denied by the time it runs. */
    lk__question_arg(q, lk__arg_number(1));
    return q;
}

static lk__question *first_keep(const lk__place *place, const char *id,
                                uint64_t fence, uint64_t lease_ms,
                                uint64_t reserve)
{
    lk__question *q = lk__first_begin(place, place->kind->confirm, id, NULL);

    if (q == NULL)
        return NULL;
    lk__question_arg(q, lk__arg_number((int64_t)fence));
    lk__question_arg(q, lk__arg_number((int64_t)lease_ms));
    lk__question_arg(q, lk__arg_number((int64_t)reserve));
    return q;
}

static void
renew_add(lk__question *q, const lk__claim *claim, uint64_t lease_ms)
{
    const lk__place *place = claim->place;
    const lk__kind *kind = place->kind;

    for (size_t k = 0; k < kind->renew_key_count; k++)
        lk__question_key(q, place->keys[kind->renew_keys[k]]);
    lk__question_arg(q, lk__arg_text(claim->id));
    lk__question_arg(q, lk__arg_number((int64_t)claim->fence));
    lk__question_arg(q, lk__arg_number((int64_t)lease_ms));
}

static lk__question *
first_renew(lk__claim *const *claims, const uint64_t *leases, size_t count)
{
    const lk__place *place = claims[0]->place;
    lk__question *q = &place->client->work->question;

    if (!lk__question_begin(q, place->kind->renew, 0))
        return NULL;
    for (size_t i = 0; i < count; i++)
        renew_add(q, claims[i], leases[i]);
    return q;
}

static lk__question *first_import(const lk__claim *claim, const char *id,
                                  uint64_t fence, uint64_t lease_ms)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__first_begin(place, place->kind->import, id, NULL);

    if (q == NULL)
        return NULL;
    lk__question_arg(q, lk__arg_number((int64_t)fence));
    lk__question_arg(q, lk__arg_number((int64_t)lease_ms));
    lk__question_arg(q, lk__arg_text(place->client->node->channel));
    lk__question_arg(q, lk__arg_text(claim->id));
    return q;
}

static lk__question *first_release(const lk__claim *claim)
{
    lk__question *q = lk__first_begin(claim->place, claim->place->kind->release,
                                      claim->id, NULL);

    if (q != NULL)
        lk__question_arg(q, lk__arg_number((int64_t)claim->fence));
    return q;
}

static lk__question *first_leave(const lk__claim *claim, uint64_t stone_ms)
{
    lk__question *q = lk__first_begin(claim->place, claim->place->kind->leave,
                                      claim->id, NULL);

    if (q != NULL)
        lk__question_arg(q, lk__arg_number((int64_t)stone_ms));
    return q;
}

static lk__question *first_force(const lk__place *place, const char *owner)
{
    return lk__first_begin(place, place->kind->force, owner, NULL);
}

static lk__question *first_revoke(const lk__place *place, const char *owner)
{
    return lk__first_begin(place, place->kind->revoke, owner, NULL);
}

static lk__question *first_info(const lk__place *place)
{
    return lk__first_begin(place, place->kind->info, "", NULL);
}

/* ---- answers ---- */

enum { ANSWER_GRANTED = 1, ANSWER_BUSY = 2 };

static lk_status first_read_seek(const lk__claim *claim,
                                 const redisReply *reply, lk__seek_answer *ret)
{
    (void)claim;
    switch (lk__reply_integer_at(reply, 0, -1)) {
    case ANSWER_GRANTED:
        ret->what = LK__SEEK_HELD;
        ret->left_ms = lk__reply_integer_at(reply, 2, 0);
        return LK_OK;
    case ANSWER_BUSY:
        ret->what = LK__SEEK_BUSY;
        ret->left_ms = lk__reply_integer_at(reply, 1, -1);
        return LK_OK;
    default:
        return LK_EPROTO;
    }
}

static lk_status
first_read_keep(const redisReply *reply, uint64_t fence, lk__keep_answer *ret)
{
    (void)fence;
    ret->is_held = lk__reply_integer_at(reply, 0, 0) == 1;
    ret->loss = lk__claim_loss_of(lk__reply_integer_at(reply, 1, 0));
    ret->is_alone = lk__reply_integer_at(reply, 2, 1) == 0;
    ret->top_fence = (uint64_t)lk__reply_integer_at(reply, 3, 0);
    return LK_OK;
}

static lk_status
first_read_renew(const redisReply *reply, const redisReply **ret)
{
    *ret = reply;
    return reply->type == REDIS_REPLY_ARRAY ? LK_OK : LK_EPROTO;
}

static lk_status
first_read_import(const redisReply *reply, lk__import_answer *ret)
{
    ret->is_held = lk__reply_integer_at(reply, 0, 0) == 1;
    ret->left_ms = lk__reply_integer_at(reply, 1, 0);
    ret->fence = (uint64_t)lk__reply_integer_at(reply, 2, 0);
    ret->top_fence = (uint64_t)lk__reply_integer_at(reply, 3, 0);
    return LK_OK;
}

static lk_status
first_read_close(const redisReply *reply, lk__close_answer *ret)
{
    ret->was_held = lk__reply_integer_at(reply, 0, 0) == 1;
    ret->more = lk__reply_integer_at(reply, 1, 0) == 1;
    return LK_OK;
}

static lk_status
first_read_revoke(const redisReply *reply, lk__revoke_answer *ret)
{
    bool is_told = lk__reply_integer_at(reply, 2, 0) == 1;

    ret->is_held = lk__reply_integer_at(reply, 0, 0) == 1;
    ret->left_ms =
        is_told ? lk__reply_integer_at(reply, 1, LK_FOREVER) : LK_FOREVER;
    return LK_OK;
}

static lk_status first_read_info(const redisReply *reply, lk__info_answer *ret)
{
    if (!lk__reply_is_number(lk__reply_at(reply, 1)))
        return LK_EPROTO;
    ret->holders = lk__reply_at(reply, 0);
    ret->number = lk__reply_integer_at(reply, 1, 0);
    ret->waiters = lk__reply_at(reply, 2);
    return LK_OK;
}

const lk__protocol lk__protocol_first = {
    .acquire = first_acquire,
    .read_seek = first_read_seek,
    .keep = first_keep,
    .read_keep = first_read_keep,
    .renew = first_renew,
    .read_renew = first_read_renew,
    .import = first_import,
    .read_import = first_read_import,
    .release = first_release,
    .leave = first_leave,
    .force = first_force,
    .read_close = first_read_close,
    .revoke = first_revoke,
    .read_revoke = first_read_revoke,
    .info = first_info,
    .read_info = first_read_info,
};
