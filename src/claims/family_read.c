/* SPDX-License-Identifier: MIT */

/* What several families answer alike; see family.h. */

#include "claims/family.h"
#include "shared_table.h"

/* ---- seeking ---- */

/* Of a touch; of no other answer. */
static lk_status
read_touched(const redisReply *reply, lk__any_touch_answer *ret)
{
    lk_status status = lk__answer_read(&lk__any_touch_answers, reply, ret);

    return status == LK_OK && ret->kind == LK__ANY_TOUCH_TOUCHED &&
                   ret->touched.next <= LK__NEXT_FREE
               ? LK_OK
               : LK_EPROTO;
}

/* One looked for itself: it holds, or is told its ticket. */
lk_status lk__family_read_look(const redisReply *reply, lk__seek_answer *ret)
{
    lk__any_touch_answer a;
    lk__found_group held;
    lk__ticket_group one;
    lk_status status = read_touched(reply, &a);

    if (status != LK_OK || lk__list_count(&a.touched.tickets) != 1)
        return LK_EPROTO;
    if (lk__list_count(&a.touched.holds) > 0) {
        lk__list_get(&a.touched.holds, 0, &held);
        ret->what = LK__SEEK_HELD;
        ret->found = true;
        ret->more = a.touched.more;
        ret->left_ms = held.left;
        ret->fence = (uint64_t)held.fence;
        ret->top_fence = (uint64_t)(held.fence + held.spare);
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

/* Whose turn it is is the first of the caller's; a holder looks, too. */
lk_status lk__family_read_touch(const redisReply *reply, size_t count,
                                lk__touch_answer *ret)
{
    lk__any_touch_answer a;
    lk__ticket_group one;

    if (read_touched(reply, &a) != LK_OK ||
        lk__list_count(&a.touched.tickets) != count)
        return LK_EPROTO;
    ret->left_ms = a.touched.left;
    ret->more = a.touched.more;
    ret->turn = count;
    for (size_t i = 0; a.touched.next != LK__NEXT_NOT && i < count; i++) {
        lk__list_get(&a.touched.tickets, i, &one);
        if (one.ticket == 0)
            continue;
        ret->turn = i;
        break;
    }
    return LK_OK;
}

uint64_t lk__family_read_ticket(const redisReply *reply, size_t i)
{
    lk__any_touch_answer a;
    lk__ticket_group one;

    if (read_touched(reply, &a) != LK_OK)
        return 0;
    lk__list_get(&a.touched.tickets, i, &one);
    return (uint64_t)one.ticket;
}

bool lk__family_read_hand_on(const redisReply *reply)
{
    lk__any_touch_answer a;

    return read_touched(reply, &a) == LK_OK && a.touched.more;
}

/* ---- holding, ending ---- */

lk_status lk__family_read_renew(const redisReply *reply, lk__lost_answer *ret)
{
    lk__any_renew_answer a;
    const lk__list *lost = &a.renewed.lost;

    if (lk__answer_read(&lk__any_renew_answers, reply, &a) != LK_OK ||
        lk__list_count(lost) > sizeof(ret->all) / sizeof(ret->all[0]))
        return LK_EPROTO;
    ret->count = lk__list_count(lost);
    for (size_t i = 0; i < ret->count; i++) {
        lk__lost_group one;

        lk__list_get(lost, i, &one);
        ret->all[i].key = one.index;
        ret->all[i].code = one.code;
    }
    return LK_OK;
}

lk_status lk__family_read_close(const redisReply *reply, lk__close_answer *ret)
{
    lk__any_close_answer a;

    if (lk__answer_read(&lk__any_close_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__close_answer){.was_held = false};
    if (a.kind == LK__ANY_CLOSE_CLOSED) {
        ret->was_held = a.closed.was == 2;
        ret->more = a.closed.more;
    }
    return LK_OK;
}

/* ---- for operators ---- */

lk_status
lk__family_read_revoke(const redisReply *reply, lk__revoke_answer *ret)
{
    lk__any_revoke_answer a;

    if (lk__answer_read(&lk__any_revoke_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__revoke_answer){.is_held = a.kind == LK__ANY_REVOKE_REVOKED,
                               .left_ms = LK_FOREVER};
    if (ret->is_held && a.revoked.told)
        ret->left_ms = a.revoked.left;
    return LK_OK;
}

/* An owner's text is followed by a NUL, as hiredis has it. */
lk_status
lk__family_read_forget(const redisReply *reply, lk__forget_answer *ret)
{
    lk__any_forget_answer a;

    if (lk__answer_read(&lk__any_forget_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__forget_answer){.what = LK__FORGET_NOTHING};
    switch ((lk__any_forget_kind)a.kind) {
    case LK__ANY_FORGET_NOTHING:
        break;
    case LK__ANY_FORGET_DONE:
        ret->what = LK__FORGET_DONE;
        break;
    case LK__ANY_FORGET_HELD:
        ret->what = LK__FORGET_HELD;
        ret->owner = a.held.owner.bytes;
        ret->left_ms = a.held.left;
        break;
    case LK__ANY_FORGET_WAITED:
        ret->what = LK__FORGET_WAITED;
        ret->number = a.waited.number;
        break;
    }
    return LK_OK;
}

static void
holder_read(const lk__info_answer *info, size_t i, lk__party_answer *ret)
{
    lk__holder_group one;

    lk__list_get(&info->holders, i, &one);
    *ret = (lk__party_answer){.owner = one.claim,
                              .reason = one.reason,
                              .mode = one.mode,
                              .count = one.count,
                              .fence = one.fence,
                              .since_ms = one.held,
                              .left_ms = one.left};
}

static void
waiter_read(const lk__info_answer *info, size_t i, lk__party_answer *ret)
{
    lk__waiter_group one;

    lk__list_get(&info->waiters, i, &one);
    *ret = (lk__party_answer){.owner = one.claim,
                              .reason = one.reason,
                              .mode = one.mode,
                              .count = one.need,
                              .since_ms = one.waited};
}

lk_status lk__family_take_info(lk__list holders, lk__list waiters,
                               int64_t number, lk__info_answer *ret)
{
    *ret = (lk__info_answer){.holder_count = lk__list_count(&holders),
                             .waiter_count = lk__list_count(&waiters),
                             .number = number,
                             .holder = holder_read,
                             .waiter = waiter_read,
                             .holders = holders,
                             .waiters = waiters};
    return LK_OK;
}

lk_status lk__family_read_info(const redisReply *reply, lk__info_answer *ret)
{
    lk__any_see_answer a;

    if (lk__answer_read(&lk__any_see_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    return lk__family_take_info(a.seen.holders, a.seen.waiters, a.seen.number,
                                ret);
}
