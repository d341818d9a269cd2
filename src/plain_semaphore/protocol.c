/* SPDX-License-Identifier: MIT */

#include "plain_semaphore/protocol.h"

#include "claims/claim.h"
#include "claims/family.h"
#include "claims/settled.h"
#include "engine/client.h"
#include "plain_semaphore_table.h"

/* ---- seeking ---- */

static lk__text member(lk__question *q, const lk__claim *claim)
{
    return lk__family_member(q, claim, claim->place->kind->mode, "-");
}

static lk__question *acquire(const lk__claim *claim, char how)
{
    lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__plain_semaphore_acquire, LK__MEMBER_SIZE);
    lk__plain_semaphore_acquire_args args = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .how = how == LK__HOW_QUEUE ? 'q' : 't',
        .interop = lk__family_interop(place),
        .life = lk__family_life(place),
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
    };

    if (q == NULL)
        return NULL;
    args.settled = lk__text_of(lk__settled_text(place));
    args.own = member(q, claim);
    return lk__family_fill(q, place, &lk__plain_semaphore_acquire,
                           LK__PLAIN_SEMAPHORE_ACQUIRE_WHOLE, &args);
}

/* looks: the one takes if its turn has come. */
static lk__question *ask_touch(const lk__place *place, bool looks,
                               lk__claim *const *claims, size_t count)
{
    lk__question *q = lk__family_begin(place, &lk__plain_semaphore_touch,
                                       count * LK__MEMBER_SIZE);
    lk__text members[LK__TOUCH_CLAIMS];
    const lk__plain_semaphore_touch_args args = {
        .looks = looks ? '1' : '0',
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
        members[i] = member(q, claims[i]);
    return lk__family_fill(q, place, &lk__plain_semaphore_touch,
                           LK__PLAIN_SEMAPHORE_TOUCH_WHOLE, &args);
}

static lk__question *
touch(const lk__place *place, lk__claim *const *claims, size_t count)
{
    return ask_touch(place, false, claims, count);
}

static lk__question *look(const lk__claim *claim)
{
    lk__claim *one = (lk__claim *)(uintptr_t)claim;

    return ask_touch(claim->place, true, &one, 1);
}

static lk_status ends(lk__seek_answer *ret, lk_status status)
{
    ret->what = LK__SEEK_ENDS;
    ret->end = status;
    return LK_OK;
}

static lk_status read_acquire(const redisReply *reply, lk__seek_answer *ret)
{
    lk__plain_semaphore_acquire_answer a;

    if (lk__answer_read(&lk__plain_semaphore_acquire_answers, reply, &a) !=
        LK_OK)
        return LK_EPROTO;
    switch ((lk__plain_semaphore_acquire_kind)a.kind) {
    case LK__PLAIN_SEMAPHORE_ACQUIRE_TAKEN:
        ret->what = LK__SEEK_HELD;
        return LK_OK;
    case LK__PLAIN_SEMAPHORE_ACQUIRE_QUEUED:
        ret->what = LK__SEEK_QUEUED;
        ret->left_ms = a.queued.left;
        ret->ticket = (uint64_t)a.queued.ticket;
        ret->next = (lk__next)a.queued.next;
        return a.queued.ticket > 0 && a.queued.next <= LK__NEXT_FREE
                   ? LK_OK
                   : LK_EPROTO;
    case LK__PLAIN_SEMAPHORE_ACQUIRE_UNSET:
        return ends(ret, LK_EUNSET);
    case LK__PLAIN_SEMAPHORE_ACQUIRE_GONE:
        return ends(ret, LK_EGONE);
    case LK__PLAIN_SEMAPHORE_ACQUIRE_BUSY:
        break;
    }
    ret->what = LK__SEEK_BUSY;
    ret->left_ms = a.busy.left;
    return LK_OK;
}

static lk_status
read_touched(const redisReply *reply, lk__plain_semaphore_touch_answer *ret)
{
    lk_status status =
        lk__answer_read(&lk__plain_semaphore_touch_answers, reply, ret);

    return status == LK_OK && (ret->kind != LK__PLAIN_SEMAPHORE_TOUCH_TOUCHED ||
                               ret->touched.next <= LK__NEXT_FREE)
               ? LK_OK
               : LK_EPROTO;
}

/* One looked for itself: it took, waited in vain, or is told its ticket. */
static lk_status read_look(const redisReply *reply, lk__seek_answer *ret)
{
    lk__plain_semaphore_touch_answer a;
    lk__ticket_group one;

    if (read_touched(reply, &a) != LK_OK)
        return LK_EPROTO;
    if (a.kind == LK__PLAIN_SEMAPHORE_TOUCH_GONE)
        return ends(ret, LK_EGONE);
    if (a.kind == LK__PLAIN_SEMAPHORE_TOUCH_TAKEN) {
        ret->what = LK__SEEK_HELD;
        return LK_OK;
    }
    if (lk__list_count(&a.touched.tickets) != 1)
        return LK_EPROTO;
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
    return claim->seek->look.script == lk__plain_semaphore_acquire.script
               ? read_acquire(reply, ret)
               : read_look(reply, ret);
}

/* Those that wait in vain have no ticket, and look for themselves. */
static lk_status
read_touch(const redisReply *reply, size_t count, lk__touch_answer *ret)
{
    lk__plain_semaphore_touch_answer a;

    *ret = (lk__touch_answer){.left_ms = -1, .turn = count};
    if (read_touched(reply, &a) != LK_OK ||
        a.kind != LK__PLAIN_SEMAPHORE_TOUCH_TOUCHED)
        return LK_EPROTO;
    if (lk__list_count(&a.touched.tickets) != count)
        return LK_EPROTO;
    ret->left_ms = a.touched.left;
    ret->more = a.touched.more;
    if (a.touched.turn > 0 && (uint64_t)a.touched.turn <= count)
        ret->turn = (size_t)a.touched.turn - 1;
    return LK_OK;
}

static uint64_t read_ticket(const redisReply *reply, size_t i)
{
    lk__plain_semaphore_touch_answer a;
    lk__ticket_group one;

    if (read_touched(reply, &a) != LK_OK ||
        a.kind != LK__PLAIN_SEMAPHORE_TOUCH_TOUCHED)
        return 0;
    lk__list_get(&a.touched.tickets, i, &one);
    return (uint64_t)one.ticket;
}

/* ---- ending ---- */

static lk__question *leave(const lk__claim *claim, uint64_t stone_ms)
{
    lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__plain_semaphore_close, LK__MEMBER_SIZE);
    lk__plain_semaphore_close_args args = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
        .has_stone = stone_ms > 0,
        .stone = (int64_t)stone_ms,
    };

    if (q == NULL)
        return NULL;
    args.settled = lk__text_of(lk__settled_text(place));
    args.own = member(q, claim);
    return lk__family_fill(q, place, &lk__plain_semaphore_close,
                           LK__PLAIN_SEMAPHORE_CLOSE_WHOLE, &args);
}

static lk_status read_close(const redisReply *reply, lk__close_answer *ret)
{
    lk__plain_semaphore_close_answer a;

    if (lk__answer_read(&lk__plain_semaphore_close_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__close_answer){.was_held = a.closed.was == 2,
                              .more = a.closed.more};
    return LK_OK;
}

static lk__question *hand_on(const lk__place *place)
{
    return touch(place, NULL, 0);
}

static bool read_hand_on(const redisReply *reply)
{
    lk__plain_semaphore_touch_answer a;

    return read_touched(reply, &a) == LK_OK &&
           a.kind == LK__PLAIN_SEMAPHORE_TOUCH_TOUCHED && a.touched.more;
}

/* ---- changes ---- */

lk__question *lk__plain_ask_change(lk__place *place, const lk__plain_wish *wish)
{
    lk__question *q = lk__family_begin(place, &lk__plain_semaphore_change, 0);
    lk__plain_semaphore_change_args args = {
        .what = wish->what,
        .op = lk__text_of(wish->op),
        .amount = wish->amount,
        .must = wish->must ? '1' : '0',
        .ttl = (int64_t)wish->ttl_ms,
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
        .life = lk__family_life(place),
    };

    if (q == NULL)
        return NULL;
    args.settled = lk__text_of(lk__settled_text(place));
    return lk__family_fill(q, place, &lk__plain_semaphore_change,
                           LK__PLAIN_SEMAPHORE_CHANGE_WHOLE, &args);
}

lk_status lk__plain_read_change(const redisReply *reply, int64_t *ret_taken,
                                bool *ret_more)
{
    static const lk_status all[] = {[LK__PLAIN_SEMAPHORE_CHANGE_DONE] = LK_OK,
                                    [LK__PLAIN_SEMAPHORE_CHANGE_BEFORE] =
                                        LK_EALREADY,
                                    [LK__PLAIN_SEMAPHORE_CHANGE_RANGE] =
                                        LK_ERANGE,
                                    [LK__PLAIN_SEMAPHORE_CHANGE_UNSET] =
                                        LK_EUNSET};
    lk__plain_semaphore_change_answer a;

    *ret_more = false;
    if (lk__answer_read(&lk__plain_semaphore_change_answers, reply, &a) !=
        LK_OK)
        return LK_EPROTO;
    if (a.kind == LK__PLAIN_SEMAPHORE_CHANGE_DONE) {
        *ret_taken = a.done.taken;
        *ret_more = a.done.more;
    }
    return all[a.kind];
}

/* ---- seeing ---- */

static lk__question *see(const lk__place *place, char what)
{
    lk__question *q = lk__family_begin(place, &lk__plain_semaphore_see, 0);
    const lk__plain_semaphore_see_args args = {.what = what};

    return q != NULL ? lk__family_fill(q, place, &lk__plain_semaphore_see,
                                       LK__PLAIN_SEMAPHORE_SEE_WHOLE, &args)
                     : NULL;
}

lk__question *lk__plain_ask_count(const lk__place *place)
{
    return see(place, 'c');
}

lk_status lk__plain_read_count(const redisReply *reply, int64_t *ret_free)
{
    lk__plain_semaphore_see_answer a;

    if (lk__answer_read(&lk__plain_semaphore_see_answers, reply, &a) != LK_OK ||
        a.kind == LK__PLAIN_SEMAPHORE_SEE_SEEN)
        return LK_EPROTO;
    if (a.kind == LK__PLAIN_SEMAPHORE_SEE_UNSET)
        return LK_EUNSET;
    *ret_free = a.counted.free;
    return LK_OK;
}

static lk__question *info(const lk__place *place)
{
    return see(place, 'i');
}

static lk_status read_info(const redisReply *reply, lk__info_answer *ret)
{
    lk__plain_semaphore_see_answer a;

    if (lk__answer_read(&lk__plain_semaphore_see_answers, reply, &a) != LK_OK ||
        a.kind != LK__PLAIN_SEMAPHORE_SEE_SEEN)
        return LK_EPROTO;
    return lk__family_take_info(a.seen.holders, a.seen.waiters, a.seen.number,
                                ret);
}

static lk__question *forget(const lk__place *place)
{
    lk__question *q = lk__family_begin(place, &lk__plain_semaphore_forget, 0);
    const lk__plain_semaphore_forget_args args = {
        .channel = lk__family_channel(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__plain_semaphore_forget,
                                       LK__PLAIN_SEMAPHORE_FORGET_WHOLE, &args)
                     : NULL;
}

static lk_status read_forget(const redisReply *reply, lk__forget_answer *ret)
{
    lk__plain_semaphore_forget_answer a;

    if (lk__answer_read(&lk__plain_semaphore_forget_answers, reply, &a) !=
        LK_OK)
        return LK_EPROTO;
    *ret = (lk__forget_answer){.what = LK__FORGET_NOTHING};
    switch ((lk__plain_semaphore_forget_kind)a.kind) {
    case LK__PLAIN_SEMAPHORE_FORGET_NOTHING:
        break;
    case LK__PLAIN_SEMAPHORE_FORGET_DONE:
        ret->what = LK__FORGET_DONE;
        break;
    case LK__PLAIN_SEMAPHORE_FORGET_WAITED:
        ret->what = LK__FORGET_WAITED;
        ret->number = a.waited.number;
        break;
    case LK__PLAIN_SEMAPHORE_FORGET_SET:
        ret->what = LK__FORGET_SET;
        ret->number = a.set.free;
        break;
    }
    return LK_OK;
}

const lk__protocol lk__protocol_plain = {
    .acquire = acquire,
    .look = look,
    .read_seek = read_seek,
    .touch = touch,
    .read_touch = read_touch,
    .read_ticket = read_ticket,
    .leave = leave,
    .read_close = read_close,
    .hand_on = hand_on,
    .read_hand_on = read_hand_on,
    .forget = forget,
    .read_forget = read_forget,
    .info = info,
    .read_info = read_info,
};
