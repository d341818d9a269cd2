/* SPDX-License-Identifier: MIT */

/*
 * The scripts of the lock and the fair lock: what they get and answer is in
 * lua/lock/lock.table, and docs/protocol.md says what stands behind it.
 */

#include "claims/protocol.h"

#include "claims/claim.h"
#include "claims/family.h"
#include "engine/client.h"
#include "lock/exclusive.h"
#include "lock_table.h"

/* ---- seeking ---- */

static lk__text member(lk__question *q, const lk__claim *claim)
{
    return lk__family_member(q, claim, claim->place->kind->mode, "-");
}

static lk__question *acquire(const lk__claim *claim, char how)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__lock_acquire, LK__MEMBER_SIZE);
    lk__lock_acquire_args args = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .lease = (int64_t)claim->lease_ms,
        .how = how,
        .interop = lk__family_interop(place),
        .life = lk__family_life(place),
    };

    if (q == NULL)
        return NULL;
    args.own = member(q, claim);
    return lk__family_fill(q, place, &lk__lock_acquire,
                           how == LK__HOW_SPIN ? LK__LOCK_ACQUIRE_SPINS
                                               : LK__LOCK_ACQUIRE_USUAL,
                           &args);
}

static lk__question *
touch(const lk__place *place, lk__claim *const *claims, size_t count)
{
    lk__question *q =
        lk__family_begin(place, &lk__lock_touch, count * LK__MEMBER_SIZE);
    lk__text members[LK__TOUCH_CLAIMS];
    const lk__lock_touch_args args = {
        .uuid = lk__text_of(place->client->id),
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
        .interop = lk__family_interop(place),
        .life = lk__family_life(place),
        .peek = '0',
        .members = members,
        .members_count = count,
    };

    if (q == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        members[i] = member(q, claims[i]);
    return lk__family_fill(q, place, &lk__lock_touch, LK__LOCK_TOUCH_WHOLE,
                           &args);
}

static lk__question *look(const lk__claim *claim)
{
    lk__claim *one = (lk__claim *)(uintptr_t)claim;

    return touch(claim->place, &one, 1);
}

static lk_status read_acquire(const redisReply *reply, lk__seek_answer *ret)
{
    lk__lock_acquire_answer a;
    lk_status status = lk__answer_read(&lk__lock_acquire_answers, reply, &a);

    if (status != LK_OK)
        return LK_EPROTO;
    switch ((lk__lock_acquire_kind)a.kind) {
    case LK__LOCK_ACQUIRE_HELD:
        ret->what = LK__SEEK_HELD;
        ret->left_ms = a.held.left;
        ret->fence = (uint64_t)a.held.fence;
        ret->top_fence = (uint64_t)(a.held.fence + a.held.spare);
        return a.held.fence > 0 ? LK_OK : LK_EPROTO;
    case LK__LOCK_ACQUIRE_QUEUED:
        ret->what = LK__SEEK_QUEUED;
        ret->left_ms = a.queued.left;
        ret->ticket = (uint64_t)a.queued.ticket;
        ret->next = (lk__next)a.queued.next;
        return a.queued.ticket > 0 && a.queued.next <= LK__NEXT_FREE
                   ? LK_OK
                   : LK_EPROTO;
    case LK__LOCK_ACQUIRE_BUSY:
        break;
    }
    ret->what = LK__SEEK_BUSY;
    ret->left_ms = a.busy.left;
    return LK_OK;
}

static lk_status
read_seek(const lk__claim *claim, const redisReply *reply, lk__seek_answer *ret)
{
    return claim->seek->look.script == lk__lock_acquire.script
               ? read_acquire(reply, ret)
               : lk__family_read_look(reply, ret);
}

/* ---- holding ---- */

static lk__question *
keep(const lk__claim *claim, uint64_t lease_ms, uint64_t reserve)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__family_begin(place, &lk__lock_keep, 0);
    const lk__lock_keep_args args = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .fence = (int64_t)claim->fence,
        .lease = (int64_t)lease_ms,
        .life = lk__family_life(place),
        .reserve = (int64_t)reserve,
        .channel = lk__family_channel(place),
        .interop = lk__family_interop(place),
    };

    return q != NULL ? lk__family_fill(q, place, &lk__lock_keep,
                                       LK__LOCK_KEEP_WHOLE, &args)
                     : NULL;
}

static lk_status
read_keep(const redisReply *reply, uint64_t fence, lk__keep_answer *ret)
{
    lk__lock_keep_answer a;

    if (lk__answer_read(&lk__lock_keep_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    ret->is_held = a.kind == LK__LOCK_KEEP_KEPT;
    if (ret->is_held) {
        ret->is_alone = !a.kept.waiting;
        ret->top_fence = fence + (uint64_t)a.kept.spare;
    } else {
        ret->loss = lk__claim_loss_of(a.lost.code);
    }
    return LK_OK;
}

/* All of one lease. */
static lk__question *
renew(lk__claim *const *claims, const uint64_t *leases, size_t count)
{
    lk__question *q = lk__family_begin(claims[0]->place, &lk__lock_renew, 0);
    lk__text ids[LK__RENEW_CLAIMS];
    const lk__lock_renew_args args = {.lease = (int64_t)leases[0],
                                      .claims = ids,
                                      .claims_count = count};

    if (q == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        ids[i] = lk__text_of(lk__claim_id(claims[i]));
        lk__family_key(q, claims[i]->place, LK__LOCK_KEY_LOCK);
    }
    return lk__family_fill(q, claims[0]->place, &lk__lock_renew, 0, &args);
}

/* ---- ending ---- */

static lk__lock_close_args
close_args(const lk__place *place, char why, const char *id)
{
    return (lk__lock_close_args){.why = why,
                                 .claim = lk__text_of(id),
                                 .db = lk__family_db(place),
                                 .channel = lk__family_channel(place),
                                 .interop = lk__family_interop(place),
                                 .life = lk__family_life(place)};
}

static lk__question *release(const lk__claim *claim)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__family_begin(place, &lk__lock_close, 0);
    lk__lock_close_args args = close_args(place, 'r', lk__claim_id(claim));

    args.fence = (int64_t)claim->fence;
    return q != NULL ? lk__family_fill(q, place, &lk__lock_close,
                                       LK__LOCK_CLOSE_WHOLE, &args)
                     : NULL;
}

static lk__question *leave(const lk__claim *claim, uint64_t stone_ms)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__family_begin(place, &lk__lock_close, LK__MEMBER_SIZE);
    lk__lock_close_args args = close_args(place, 'l', lk__claim_id(claim));

    if (q == NULL)
        return NULL;
    args.has_own = true;
    args.own = member(q, claim);
    args.has_stone = stone_ms > 0;
    args.stone = (int64_t)stone_ms;
    return lk__family_fill(q, place, &lk__lock_close, LK__LOCK_CLOSE_WHOLE,
                           &args);
}

static lk__question *force(const lk__place *place, const char *owner)
{
    lk__question *q = lk__family_begin(place, &lk__lock_close, 0);
    lk__lock_close_args args = close_args(place, 'f', owner);

    return q != NULL ? lk__family_fill(q, place, &lk__lock_close,
                                       LK__LOCK_CLOSE_WHOLE, &args)
                     : NULL;
}

static lk__question *hand_on(const lk__place *place)
{
    return touch(place, NULL, 0);
}

/* ---- taking over ---- */

static lk__question *import(const lk__claim *claim, const char *id,
                            uint64_t fence, uint64_t lease_ms)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__lock_import, LK__MEMBER_SIZE);
    lk__lock_import_args args = {
        .claim = lk__text_of(id),
        .fence = (int64_t)fence,
        .lease = (int64_t)lease_ms,
        .life = lk__family_life(place),
        .interop = lk__family_interop(place),
    };

    if (q == NULL)
        return NULL;
    args.own = member(q, claim);
    return lk__family_fill(q, place, &lk__lock_import, LK__LOCK_IMPORT_WHOLE,
                           &args);
}

static lk_status read_import(const redisReply *reply, lk__import_answer *ret)
{
    lk__lock_import_answer a;

    if (lk__answer_read(&lk__lock_import_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__import_answer){.is_held = a.kind == LK__LOCK_IMPORT_HELD};
    if (ret->is_held) {
        ret->left_ms = a.held.left;
        ret->fence = (uint64_t)a.held.fence;
        ret->top_fence = (uint64_t)(a.held.fence + a.held.spare);
    }
    return LK_OK;
}

/* ---- for operators ---- */

static lk__question *revoke(const lk__place *place, const char *owner)
{
    lk__question *q = lk__family_begin(place, &lk__lock_revoke, 0);
    const lk__lock_revoke_args args = {.claim = lk__text_of(owner),
                                       .db = lk__family_db(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__lock_revoke,
                                       LK__LOCK_REVOKE_WHOLE, &args)
                     : NULL;
}

static lk__question *forget(const lk__place *place)
{
    lk__question *q = lk__family_begin(place, &lk__lock_forget, 0);
    const lk__lock_forget_args args = {.channel = lk__family_channel(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__lock_forget,
                                       LK__LOCK_FORGET_WHOLE, &args)
                     : NULL;
}

static lk__question *info(const lk__place *place)
{
    lk__question *q = lk__family_begin(place, &lk__lock_see, 0);

    return q != NULL ? lk__family_fill(q, place, &lk__lock_see,
                                       LK__LOCK_SEE_WHOLE, NULL)
                     : NULL;
}

const lk__protocol lk__protocol_lock = {
    .acquire = acquire,
    .look = look,
    .read_seek = read_seek,
    .touch = touch,
    .read_touch = lk__family_read_touch,
    .read_ticket = lk__family_read_ticket,
    .keep = keep,
    .read_keep = read_keep,
    .renew = renew,
    .read_renew = lk__family_read_renew,
    .release = release,
    .leave = leave,
    .force = force,
    .read_close = lk__family_read_close,
    .hand_on = hand_on,
    .read_hand_on = lk__family_read_hand_on,
    .import = import,
    .read_import = read_import,
    .revoke = revoke,
    .read_revoke = lk__family_read_revoke,
    .forget = forget,
    .read_forget = lk__family_read_forget,
    .info = info,
    .read_info = lk__family_read_info,
};
