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
    return kind->protocol->is_second ? kind->protocol->hand_on != NULL
                                     : kind->pass != NULL;
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

static void add_terms(lk__question *q, const lk__claim *claim)
{
    const lk__terms *terms = &claim->terms;
    lk__place *place = claim->place;
    const char *text =
        place->kind->text != NULL ? place->kind->text(place) : terms->text;

    lk__question_arg(q, lk__arg_text(terms->mode));
    lk__question_arg(q, lk__arg_number((int64_t)terms->need));
    lk__question_arg(q, lk__arg_number((int64_t)terms->number));
    lk__question_arg(q, lk__arg_text(text));
}

/* What the script calls the ways to seek. */
static const char *word_of(char how)
{
    switch (how) {
    case LK__HOW_QUEUE:
        return "1";
    case LK__HOW_YIELD:
        return "t";
    case LK__HOW_SPIN:
        return "s";
    default:
        return "0";
    }
}

static lk__question *first_acquire(const lk__claim *claim, char how)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__first_begin(place, place->kind->acquire, claim->id, NULL);

    if (q == NULL)
        return NULL;
    lk__question_arg(q, lk__arg_number((int64_t)claim->lease_ms));
    lk__question_arg(q, lk__arg_text(word_of(how)));
    lk__question_arg(q, lk__arg_text(place->client->node->channel));
    lk__question_arg(q, lk__arg_text(claim->reason));
    /* Killing may be denied by the time it runs. */
    lk__question_arg(q, lk__arg_number(1));
    if (place->kind->has_terms)
        add_terms(q, claim);
    return q;
}

static lk__question *first_look(const lk__claim *claim)
{
    lk__question *q = lk__first_begin(claim->place, claim->place->kind->recheck,
                                      claim->id, NULL);

    if (q != NULL)
        lk__question_arg(q, lk__arg_number((int64_t)claim->lease_ms));
    return q;
}

static lk__question *
first_touch(const lk__place *place, lk__claim *const *claims, size_t count)
{
    lk__question *q = lk__first_begin(place, place->kind->touch, "", NULL);

    for (size_t i = 0; q != NULL && i < count; i++)
        lk__question_arg(q, lk__arg_text(claims[i]->id));
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

static lk__question *first_hand_on(const lk__place *place)
{
    return lk__first_begin(place, place->kind->pass, "", NULL);
}

static lk__question *first_force(const lk__place *place, const char *owner)
{
    return lk__first_begin(place, place->kind->force, owner, NULL);
}

static lk__question *first_revoke(const lk__place *place, const char *owner)
{
    return lk__first_begin(place, place->kind->revoke, owner, NULL);
}

static lk__question *first_forget(const lk__place *place)
{
    return lk__first_begin(place, place->kind->forget, "", NULL);
}

static lk__question *first_info(const lk__place *place)
{
    return lk__first_begin(place, place->kind->info, "", NULL);
}

/* ---- answers ---- */

enum {
    ANSWER_QUEUED = 0,
    ANSWER_GRANTED = 1,
    ANSWER_BUSY = 2,
    ANSWER_GONE = 3,
    ANSWER_ENDS = 4 /* and more: the claim is at an end, for these reasons */
};

static const lk_status ends[] = {LK_ERANGE, LK_EUNSET, LK_EMISMATCH, LK_EGONE};

/* A holdless kind's ticket is of no use, and may be something else. */
static lk_status
read_queued(const lk__kind *kind, const redisReply *reply, lk__seek_answer *ret)
{
    int64_t ticket = lk__reply_integer_at(reply, 2, 0);
    int64_t next = lk__reply_integer_at(reply, 3, LK__NEXT_NOT);

    if (kind->recheck == NULL || (!kind->holdless && ticket <= 0))
        return LK_EPROTO;
    ret->what = LK__SEEK_QUEUED;
    ret->left_ms = lk__reply_integer_at(reply, 1, -1);
    ret->ticket = (uint64_t)ticket;
    ret->next = next == LK__NEXT_HELD || next == LK__NEXT_NOT ? (lk__next)next
                                                              : LK__NEXT_FREE;
    ret->more = lk__reply_integer_at(reply, 4, 0) == 1;
    return LK_OK;
}

/* A look says whether there is more before it says the range. */
static lk_status read_granted(const lk__claim *claim, const redisReply *reply,
                              lk__seek_answer *ret)
{
    const lk__kind *kind = claim->place->kind;
    bool is_look = claim->look.script == kind->recheck;
    int64_t fence = lk__reply_integer_at(reply, 1, 0);
    bool has_fence = !kind->fenceless && !kind->holdless && kind->judge == NULL;

    if (has_fence && fence <= 0)
        return LK_EPROTO;
    ret->what = LK__SEEK_HELD;
    ret->fence = (uint64_t)fence;
    ret->left_ms = lk__reply_integer_at(reply, 2, 0);
    ret->top_fence = (uint64_t)lk__reply_integer_at(reply, is_look ? 4 : 3, 0);
    return LK_OK;
}

static lk_status first_read_seek(const lk__claim *claim,
                                 const redisReply *reply, lk__seek_answer *ret)
{
    const lk__kind *kind = claim->place->kind;
    int64_t answer = lk__reply_integer_at(reply, 0, -1);
    uint64_t end = (uint64_t)answer - ANSWER_ENDS; /* hostile numbers wrap */

    if (kind->has_terms && answer >= ANSWER_ENDS &&
        end < sizeof(ends) / sizeof(ends[0])) {
        ret->what = LK__SEEK_ENDS;
        ret->end = ends[end];
        return LK_OK;
    }
    switch (answer) {
    case ANSWER_QUEUED:
        return read_queued(kind, reply, ret);
    case ANSWER_GRANTED:
        return read_granted(claim, reply, ret);
    case ANSWER_BUSY:
        ret->what = LK__SEEK_BUSY;
        ret->left_ms = lk__reply_integer_at(reply, 1, -1);
        return LK_OK;
    case ANSWER_GONE:
        ret->what = LK__SEEK_GONE;
        return LK_OK;
    default:
        return LK_EPROTO;
    }
}

enum { FIRST_TICKET = 4 }; /* of a touch */

static lk_status
first_read_touch(const redisReply *reply, size_t count, lk__touch_answer *ret)
{
    int64_t turn = lk__reply_integer_at(reply, 1, 0);
    bool more = lk__reply_integer_at(reply, 2, 0) == 1;

    ret->left_ms = more ? 0 : lk__reply_integer_at(reply, 0, -1);
    ret->turn = turn >= 1 && (uint64_t)turn <= count ? (size_t)turn - 1 : count;
    return LK_OK;
}

static uint64_t first_read_ticket(const redisReply *reply, size_t i)
{
    return (uint64_t)lk__reply_integer_at(reply, FIRST_TICKET + i, 0);
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

static bool first_read_hand_on(const redisReply *reply)
{
    return lk__reply_integer_at(reply, 0, 0) == 1;
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

static lk_status
first_read_forget(const redisReply *reply, lk__forget_answer *ret)
{
    int64_t code = lk__reply_integer_at(reply, 0, -1);

    if (code < LK__FORGET_NOTHING || code > LK__FORGET_SET)
        return LK_EPROTO;
    ret->what = (lk__forget_what)code;
    if (code >= LK__FORGET_HELD &&
        !lk__reply_is_number(
            lk__reply_at(reply, code == LK__FORGET_HELD ? 2 : 1)))
        return LK_EPROTO;
    ret->owner = lk__reply_text_at(reply, 1);
    ret->left_ms = lk__reply_integer_at(reply, 2, -1);
    ret->number = lk__reply_integer_at(reply, 1, 0);
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
    .look = first_look,
    .read_seek = first_read_seek,
    .touch = first_touch,
    .read_touch = first_read_touch,
    .read_ticket = first_read_ticket,
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
    .hand_on = first_hand_on,
    .read_hand_on = first_read_hand_on,
    .revoke = first_revoke,
    .read_revoke = first_read_revoke,
    .forget = first_forget,
    .read_forget = first_read_forget,
    .info = first_info,
    .read_info = first_read_info,
};
