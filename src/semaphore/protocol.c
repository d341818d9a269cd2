/* SPDX-License-Identifier: MIT */

#include "semaphore/protocol.h"

#include <latchkey/semaphore.h>

#include "claims/claim.h"
#include "claims/family.h"
#include "engine/client.h"
#include "semaphore_table.h"

enum { SHARE_SIZE = 72 }; /* a claim's need and its id */

/* ---- seeking ---- */

static lk__question *acquire(const lk__claim *claim, char how)
{
    const lk__place *place = claim->place;
    const lk__terms *terms = lk__claim_terms(claim);
    lk__question *q =
        lk__family_begin(place, &lk__semaphore_acquire, LK__MEMBER_SIZE);
    lk__semaphore_acquire_args args = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .lease = (int64_t)claim->lease_ms,
        .how = how == LK__HOW_QUEUE ? 'q' : 't',
        .interop = lk__family_interop(place),
        .life = lk__family_life(place),
        .number = (int64_t)terms->number,
        .sets = terms->text != NULL ? terms->text[0] : '-',
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
    };

    if (q == NULL)
        return NULL;
    args.own = lk__family_member(q, claim, claim->place->kind->mode,
                                 lk__family_skew(claim));
    return lk__family_fill(q, place, &lk__semaphore_acquire,
                           LK__SEMAPHORE_ACQUIRE_WHOLE, &args);
}

static lk__question *
touch(const lk__place *place, lk__claim *const *claims, size_t count)
{
    lk__question *q =
        lk__family_begin(place, &lk__semaphore_touch, count * LK__MEMBER_SIZE);
    lk__text members[LK__TOUCH_CLAIMS];
    const lk__semaphore_touch_args args = {
        .uuid = lk__text_of(place->client->id),
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
        .interop = lk__family_interop(place),
        .life = lk__family_life(place),
        .members = members,
        .members_count = count,
    };

    if (q == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        members[i] =
            lk__family_member(q, claims[i], claims[i]->place->kind->mode,
                              lk__family_skew(claims[i]));
    return lk__family_fill(q, place, &lk__semaphore_touch,
                           LK__SEMAPHORE_TOUCH_WHOLE, &args);
}

static lk__question *look(const lk__claim *claim)
{
    lk__claim *one = (lk__claim *)(uintptr_t)claim;

    return touch(claim->place, &one, 1);
}

static lk_status ends(lk__seek_answer *ret, lk_status status, int64_t all)
{
    ret->what = LK__SEEK_ENDS;
    ret->end = status;
    ret->all = all;
    return LK_OK;
}

static lk_status read_acquire(const redisReply *reply, lk__seek_answer *ret)
{
    lk__semaphore_acquire_answer a;

    if (lk__answer_read(&lk__semaphore_acquire_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    switch ((lk__semaphore_acquire_kind)a.kind) {
    case LK__SEMAPHORE_ACQUIRE_HELD:
        ret->what = LK__SEEK_HELD;
        ret->left_ms = a.held.left;
        ret->fence = ret->top_fence = (uint64_t)a.held.fence;
        return a.held.fence > 0 ? LK_OK : LK_EPROTO;
    case LK__SEMAPHORE_ACQUIRE_QUEUED:
        ret->what = LK__SEEK_QUEUED;
        ret->left_ms = a.queued.left;
        ret->ticket = (uint64_t)a.queued.ticket;
        ret->next = (lk__next)a.queued.next;
        return a.queued.ticket > 0 && a.queued.next <= LK__NEXT_HELD
                   ? LK_OK
                   : LK_EPROTO;
    case LK__SEMAPHORE_ACQUIRE_SCANT:
        return ends(ret, LK_ERANGE, a.scant.all);
    case LK__SEMAPHORE_ACQUIRE_UNSET:
        return ends(ret, LK_EUNSET, 0);
    case LK__SEMAPHORE_ACQUIRE_OTHER:
        return ends(ret, LK_EMISMATCH, a.other.all);
    case LK__SEMAPHORE_ACQUIRE_BUSY:
        break;
    }
    ret->what = LK__SEEK_BUSY;
    ret->left_ms = a.busy.left;
    return LK_OK;
}

static lk_status
read_touched(const redisReply *reply, lk__semaphore_touch_answer *ret)
{
    lk_status status =
        lk__answer_read(&lk__semaphore_touch_answers, reply, ret);

    return status == LK_OK && (ret->kind != LK__SEMAPHORE_TOUCH_TOUCHED ||
                               ret->touched.next <= LK__NEXT_HELD)
               ? LK_OK
               : LK_EPROTO;
}

/* One looked for itself: it holds, is told its ticket, or that it waits in
   vain. */
static lk_status read_look(const redisReply *reply, lk__seek_answer *ret)
{
    lk__semaphore_touch_answer a;
    lk__permits_found_group held;
    lk__ticket_group one;

    if (read_touched(reply, &a) != LK_OK)
        return LK_EPROTO;
    if (a.kind == LK__SEMAPHORE_TOUCH_SCANT)
        return ends(ret, LK_ERANGE, a.scant.all);
    if (lk__list_count(&a.touched.tickets) != 1)
        return LK_EPROTO;
    if (lk__list_count(&a.touched.holds) > 0) {
        lk__list_get(&a.touched.holds, 0, &held);
        ret->what = LK__SEEK_HELD;
        ret->found = true;
        ret->more = a.touched.more;
        ret->left_ms = held.left;
        ret->fence = ret->top_fence = (uint64_t)held.fence;
        return held.fence > 0 ? LK_OK : LK_EPROTO;
    }
    lk__list_get(&a.touched.tickets, 0, &one);
    ret->what = one.ticket == 0 ? LK__SEEK_GONE : LK__SEEK_QUEUED;
    ret->left_ms = a.touched.left;
    ret->ticket = (uint64_t)one.ticket;
    ret->next = (lk__next)a.touched.next;
    ret->more = a.touched.more;
    return LK_OK;
}

static lk_status
read_seek(const lk__claim *claim, const redisReply *reply, lk__seek_answer *ret)
{
    return claim->seek->look.script == lk__semaphore_acquire.script
               ? read_acquire(reply, ret)
               : read_look(reply, ret);
}

/* Whose turn it is is the first of the caller's that waits. One alone that waits
   in vain has no ticket, and looks for itself. */
static lk_status
read_touch(const redisReply *reply, size_t count, lk__touch_answer *ret)
{
    lk__semaphore_touch_answer a;
    lk__ticket_group one;

    *ret = (lk__touch_answer){.left_ms = -1, .turn = count};
    if (read_touched(reply, &a) != LK_OK)
        return LK_EPROTO;
    if (a.kind == LK__SEMAPHORE_TOUCH_SCANT)
        return LK_OK;
    if (lk__list_count(&a.touched.tickets) != count)
        return LK_EPROTO;
    ret->left_ms = a.touched.left;
    ret->more = a.touched.more;
    for (size_t i = 0; a.touched.next != LK__NEXT_NOT && i < count; i++) {
        lk__list_get(&a.touched.tickets, i, &one);
        if (one.ticket == 0)
            continue;
        ret->turn = i;
        break;
    }
    return LK_OK;
}

static uint64_t read_ticket(const redisReply *reply, size_t i)
{
    lk__semaphore_touch_answer a;
    lk__ticket_group one;

    if (read_touched(reply, &a) != LK_OK ||
        a.kind != LK__SEMAPHORE_TOUCH_TOUCHED)
        return 0;
    lk__list_get(&a.touched.tickets, i, &one);
    return (uint64_t)one.ticket;
}

/* ---- holding ---- */

static lk__question *
keep(const lk__claim *claim, uint64_t lease_ms, uint64_t reserve)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__family_begin(place, &lk__semaphore_keep, 0);
    const lk__semaphore_keep_args args = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .fence = (int64_t)claim->fence,
        .lease = (int64_t)lease_ms,
        .life = lk__family_life(place),
        .channel = lk__family_channel(place),
        .interop = lk__family_interop(place),
    };

    (void)reserve; /* a hold is not handed on within a client */
    return q != NULL ? lk__family_fill(q, place, &lk__semaphore_keep,
                                       LK__SEMAPHORE_KEEP_WHOLE, &args)
                     : NULL;
}

static lk_status
read_keep(const redisReply *reply, uint64_t fence, lk__keep_answer *ret)
{
    lk__semaphore_keep_answer a;

    if (lk__answer_read(&lk__semaphore_keep_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    ret->is_held = a.kind == LK__SEMAPHORE_KEEP_KEPT;
    if (ret->is_held) {
        ret->is_alone = !a.kept.waiting;
        ret->top_fence = fence;
        ret->most_ms = a.kept.left > 0 ? (uint64_t)a.kept.left : 1;
    } else {
        ret->loss = lk__claim_loss_of(a.lost.code);
    }
    return LK_OK;
}

/* All of one lease. */
static lk__question *
renew(lk__claim *const *claims, const uint64_t *leases, size_t count)
{
    const lk__place *place = claims[0]->place;
    lk__question *q =
        lk__family_begin(place, &lk__semaphore_renew, count * SHARE_SIZE);
    lk__text shares[LK__RENEW_CLAIMS];
    const lk__semaphore_renew_args args = {
        .lease = (int64_t)leases[0],
        .interop = lk__family_interop(place),
        .shares = shares,
        .shares_count = count,
    };

    if (q == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const lk__share_text share =
            {.need = (int64_t)lk__claim_terms(claims[i])->need,
             .claim = lk__text_of(lk__claim_id(claims[i]))};
        char *text = lk__question_text(q, SHARE_SIZE);

        shares[i] =
            (lk__text){text, lk__packed_write(&lk__share_text_packed, &share,
                                              text, SHARE_SIZE)};
        lk__family_key(q, claims[i]->place, LK__SEMAPHORE_KEY_ZSET);
    }
    return lk__family_fill(q, place, &lk__semaphore_renew, 0, &args);
}

/* ---- ending ---- */

static lk__semaphore_close_args
close_args(const lk__place *place, char why, const char *id)
{
    return (lk__semaphore_close_args){.why = why,
                                      .claim = lk__text_of(id),
                                      .db = lk__family_db(place),
                                      .channel = lk__family_channel(place),
                                      .interop = lk__family_interop(place),
                                      .life = lk__family_life(place)};
}

static lk__question *release(const lk__claim *claim)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__family_begin(place, &lk__semaphore_close, 0);
    lk__semaphore_close_args args = close_args(place, 'r', lk__claim_id(claim));

    args.fence = (int64_t)claim->fence;
    return q != NULL ? lk__family_fill(q, place, &lk__semaphore_close,
                                       LK__SEMAPHORE_CLOSE_WHOLE, &args)
                     : NULL;
}

static lk__question *leave(const lk__claim *claim, uint64_t stone_ms)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__semaphore_close, LK__MEMBER_SIZE);
    lk__semaphore_close_args args = close_args(place, 'l', lk__claim_id(claim));

    if (q == NULL)
        return NULL;
    args.has_own = true;
    args.own = lk__family_member(q, claim, claim->place->kind->mode,
                                 lk__family_skew(claim));
    args.has_stone = stone_ms > 0;
    args.stone = (int64_t)stone_ms;
    return lk__family_fill(q, place, &lk__semaphore_close,
                           LK__SEMAPHORE_CLOSE_WHOLE, &args);
}

static lk__question *force(const lk__place *place, const char *owner)
{
    lk__question *q = lk__family_begin(place, &lk__semaphore_close, 0);
    lk__semaphore_close_args args = close_args(place, 'f', owner);

    return q != NULL ? lk__family_fill(q, place, &lk__semaphore_close,
                                       LK__SEMAPHORE_CLOSE_WHOLE, &args)
                     : NULL;
}

static lk__question *hand_on(const lk__place *place)
{
    return touch(place, NULL, 0);
}

static bool read_hand_on(const redisReply *reply)
{
    lk__semaphore_touch_answer a;

    return read_touched(reply, &a) == LK_OK &&
           a.kind == LK__SEMAPHORE_TOUCH_TOUCHED && a.touched.more;
}

/* ---- taking over ---- */

static lk__question *import(const lk__claim *claim, const char *id,
                            uint64_t fence, uint64_t lease_ms)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__semaphore_import, LK__MEMBER_SIZE);
    lk__semaphore_import_args args = {
        .claim = lk__text_of(id),
        .fence = (int64_t)fence,
        .lease = (int64_t)lease_ms,
        .life = lk__family_life(place),
    };

    if (q == NULL)
        return NULL;
    args.own = lk__family_member(q, claim, claim->place->kind->mode,
                                 lk__family_skew(claim));
    return lk__family_fill(q, place, &lk__semaphore_import,
                           LK__SEMAPHORE_IMPORT_WHOLE, &args);
}

static lk_status read_import(const redisReply *reply, lk__import_answer *ret)
{
    lk__semaphore_import_answer a;

    if (lk__answer_read(&lk__semaphore_import_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__import_answer){.is_held = a.kind == LK__SEMAPHORE_IMPORT_HELD};
    if (ret->is_held) {
        ret->left_ms = a.held.left;
        ret->fence = ret->top_fence = (uint64_t)a.held.fence;
        ret->need = (uint64_t)a.held.need;
    }
    return !ret->is_held ||
                   (ret->need > 0 && ret->need <= LK_SEMAPHORE_MAX_COUNT)
               ? LK_OK
               : LK_EPROTO;
}

/* ---- for operators ---- */

static lk__question *revoke(const lk__place *place, const char *owner)
{
    lk__question *q = lk__family_begin(place, &lk__semaphore_revoke, 0);
    const lk__semaphore_revoke_args args = {.claim = lk__text_of(owner),
                                            .db = lk__family_db(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__semaphore_revoke,
                                       LK__SEMAPHORE_REVOKE_WHOLE, &args)
                     : NULL;
}

static lk__question *forget(const lk__place *place)
{
    lk__question *q = lk__family_begin(place, &lk__semaphore_forget, 0);
    const lk__semaphore_forget_args args = {.channel =
                                                lk__family_channel(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__semaphore_forget,
                                       LK__SEMAPHORE_FORGET_WHOLE, &args)
                     : NULL;
}

static lk__question *see(const lk__place *place, char what)
{
    lk__question *q = lk__family_begin(place, &lk__semaphore_see, 0);
    const lk__semaphore_see_args args = {.what = what,
                                         .interop = lk__family_interop(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__semaphore_see,
                                       LK__SEMAPHORE_SEE_WHOLE, &args)
                     : NULL;
}

static lk__question *info(const lk__place *place)
{
    return see(place, 'i');
}

static lk_status read_info(const redisReply *reply, lk__info_answer *ret)
{
    lk__semaphore_see_answer a;

    if (lk__answer_read(&lk__semaphore_see_answers, reply, &a) != LK_OK ||
        a.kind != LK__SEMAPHORE_SEE_SEEN)
        return LK_EPROTO;
    return lk__family_take_info(a.seen.holders, a.seen.waiters, a.seen.number,
                                ret);
}

/* ---- N ---- */

lk__question *lk__semaphore_ask_resize(const lk__place *place, uint64_t permits)
{
    lk__question *q = lk__family_begin(place, &lk__semaphore_resize, 0);
    const lk__semaphore_resize_args args = {
        .number = (int64_t)permits,
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
        .interop = lk__family_interop(place),
        .life = lk__family_life(place),
    };

    return q != NULL ? lk__family_fill(q, place, &lk__semaphore_resize,
                                       LK__SEMAPHORE_RESIZE_WHOLE, &args)
                     : NULL;
}

lk__question *lk__semaphore_ask_count(const lk__place *place)
{
    return see(place, 'c');
}

bool lk__semaphore_is_resize(const lk__script *script)
{
    return script == lk__semaphore_resize.script;
}

bool lk__semaphore_is_count(const lk__script *script)
{
    return script == lk__semaphore_see.script;
}

lk_status lk__semaphore_read_resize(const redisReply *reply, bool *ret_more)
{
    lk__semaphore_resize_answer a;

    if (lk__answer_read(&lk__semaphore_resize_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret_more = a.resized.more;
    return LK_OK;
}

lk_status lk__semaphore_read_count(const redisReply *reply, int64_t *ret_number,
                                   int64_t *ret_free)
{
    lk__semaphore_see_answer a;

    if (lk__answer_read(&lk__semaphore_see_answers, reply, &a) != LK_OK ||
        a.kind == LK__SEMAPHORE_SEE_SEEN)
        return LK_EPROTO;
    if (a.kind == LK__SEMAPHORE_SEE_UNSET)
        return LK_EUNSET;
    *ret_number = a.counted.number;
    *ret_free = a.counted.free;
    return LK_OK;
}

const lk__protocol lk__protocol_semaphore = {
    .acquire = acquire,
    .look = look,
    .read_seek = read_seek,
    .touch = touch,
    .read_touch = read_touch,
    .read_ticket = read_ticket,
    .keep = keep,
    .read_keep = read_keep,
    .renew = renew,
    .read_renew = lk__family_read_renew,
    .release = release,
    .leave = leave,
    .force = force,
    .read_close = lk__family_read_close,
    .hand_on = hand_on,
    .read_hand_on = read_hand_on,
    .import = import,
    .read_import = read_import,
    .revoke = revoke,
    .read_revoke = lk__family_read_revoke,
    .forget = forget,
    .read_forget = lk__family_read_forget,
    .info = info,
    .read_info = read_info,
};
