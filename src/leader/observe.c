/* SPDX-License-Identifier: MIT */

/*
 * To know who leads: a wait that holds nothing, one claim of a client for all
 * who observe one election. It looks about once a second, when the leader's
 * lease would end, and when somebody says that there is news. What has changed
 * is then asked for.
 */

#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/family.h"
#include "claims/node.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/client.h"
#include "leader/leader.h"
#include "lock_table.h"

/* ---- what it asks ---- */

static lk__question *look(const lk__claim *claim)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__question_begin(place->client, lk__lock_term.script, 0);

    if (q == NULL)
        return NULL;
    return lk__family_fill(q, place, &lk__lock_term, LK__LOCK_TERM_WHOLE, NULL);
}

/* It takes nothing and stands in no queue. */
static lk__question *acquire(const lk__claim *claim, char how)
{
    (void)how;
    return look(claim);
}

/* Each look is answered as if it queued: it looks again. */
static lk_status
read_seek(const lk__claim *claim, const redisReply *reply, lk__seek_answer *ret)
{
    lk__lock_term_answer a;

    (void)claim;
    if (lk__answer_read(&lk__lock_term_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    ret->what = LK__SEEK_QUEUED;
    ret->left_ms = a.term.left;
    ret->ticket = 1;
    return LK_OK;
}

static const lk__protocol protocol = {.acquire = acquire,
                                      .look = look,
                                      .read_seek = read_seek};

static lk__verdict judge(uint64_t *mark, const void *reply)
{
    lk__lock_term_answer a;

    if (lk__answer_read(&lk__lock_term_answers, reply, &a) != LK_OK ||
        (uint64_t)a.term.term == *mark)
        return LK__VERDICT_WAIT;
    *mark = (uint64_t)a.term.term; /* known from now on */
    return LK__VERDICT_OK;
}

/* What is said is news of another moment: it looks what is so. */
static void hear(lk__place *place, const char *text, size_t size)
{
    (void)text;
    (void)size;
    if (place->front != NULL)
        lk__claim_hinted(place->front);
}

const lk__kind lk__kind_observer = {
    .word = "leader",
    .family = "leader",
    .protocol = &protocol,
    .holdless = true,
    .key_count = LK__LOCK_KEYS,
    .keys = lk__lock_keys,
    .channel = "latchkey:leader",
    .topic = "latchkey:leader",
    .hear = hear,
    .judge = judge,
};

/* ---- who leads now --------------------------------------------------------------- */

lk_status lk_leader_get(lk_leader *leader, lk_info **ret_info)
{
    lk_status status = lk__leader_check(leader, ret_info);

    return status != LK_OK ? status : lk__handle_info(&leader->seat, ret_info);
}

lk_status lk_leader_get_async(lk_leader *leader, lk_info_cb cb, void *data)
{
    lk_status status = lk__leader_check(leader, leader);

    return status != LK_OK ? status
                           : lk__handle_info_async(&leader->seat, cb, data);
}

uint64_t lk_leader_term(const lk_info *info)
{
    return info != NULL && info->holder_count > 0 ? info->holders[0]->fence : 0;
}

/* ---- until another one does -------------------------------------------------------- */

static uint64_t now(const lk_leader *leader)
{
    return lk__client_now(leader->seat.place->client);
}

/* It takes nothing, so it is never in doubt. */
static lk_status status_of(lk_status status)
{
    return status == LK_EINDOUBT ? LK_ETIMEDOUT : status;
}

/* One look takes as long as any question. */
static uint64_t observed_until(const lk_leader *leader, int64_t wait_ms)
{
    return wait_ms == 0 ? LK__NEVER : lk__wait_until_ns(now(leader), wait_ms);
}

/* The question behind the wait is a part of the call's time. */
static lk_status
info_status(const lk_leader *leader, lk_status status, uint64_t until)
{
    return status == LK_EOFFLINE && now(leader) >= until
               ? lk__fail(LK_ETIMEDOUT, "%s", lk_status_text(LK_ETIMEDOUT))
               : status;
}

/* A wait until the term is another one, for the time that is left. */
static lk__wish wish_of(const lk_leader *leader, uint64_t term, uint64_t until,
                        const lk_acquire_options *options)
{
    uint64_t left_ms = lk__remaining_ms(now(leader), until);
    lk__wish wish = {.place = leader->watch->place,
                     .wait_ms =
                         until == LK__NEVER ? LK_FOREVER : (int64_t)left_ms,
                     .options = options,
                     .line = LK__LINE_SHARED,
                     .mark = term};

    return wish;
}

/* One without a limit rides out an outage, also at the question. */
static bool
goes_on(lk_status status, const lk_info *info, uint64_t term, uint64_t until)
{
    if (status == LK_OK)
        return lk_leader_term(info) == term;
    return until == LK__NEVER && lk__status_is_outage(status);
}

static bool is_over(const lk_leader *leader, uint64_t until)
{
    return lk__remaining_ms(now(leader), until) == 0;
}

static lk_status same_term(void)
{
    return lk__fail(LK_EBUSY, "it is the same term");
}

static lk_status wait_blocking(const lk_leader *leader, uint64_t term,
                               uint64_t until, lk_cancel *cancel)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .cancel = cancel};
    lk__wish wish = wish_of(leader, term, until, &options);

    if (is_over(leader, until))
        return LK_ETIMEDOUT;
    return status_of(lk__wait_for(&wish));
}

/* Between the look and the question one may have come and gone. */
lk_status lk_leader_observe(lk_leader *leader, uint64_t term, int64_t wait_ms,
                            lk_cancel *cancel, lk_info **ret_info)
{
    lk_status status = lk__leader_check(leader, ret_info);
    lk_info *info = NULL;
    uint64_t until;

    if (status == LK_OK)
        status = lk__wait_check(wait_ms);
    if (status != LK_OK)
        return status;
    until = observed_until(leader, wait_ms);
    lk__leader_ref(leader);
    do {
        lk_info_free(info);
        info = NULL;
        if (wait_ms != 0)
            status = wait_blocking(leader, term, until, cancel);
        if (status == LK_OK)
            status =
                info_status(leader,
                            lk__handle_info_by(&leader->seat, until, &info),
                            until);
    } while (wait_ms != 0 && goes_on(status, info, term, until));
    lk__leader_unref(leader);
    if (status == LK_OK && lk_leader_term(info) == term) {
        lk_info_free(info);
        return same_term();
    }
    if (status == LK_OK)
        *ret_info = info;
    return status;
}

/* ---- the same without waiting -------------------------------------------------------- */

struct observation {
    lk_leader *leader; /* counted */
    uint64_t term;
    uint64_t until;
    bool once;
    lk_cancel *cancel;
    lk_info_cb cb;
    void *data;
};

static void
observation_end(struct observation *o, lk_status status, lk_info *info)
{
    o->cb(status, info, o->data);
    lk__leader_unref(o->leader);
    lk__free(o);
}

static lk_status wait_begin(struct observation *o);

static void on_info(lk_status status, lk_info *info, void *data)
{
    struct observation *o = data;

    status = info_status(o->leader, status, o->until);
    if (o->once && status == LK_OK && lk_leader_term(info) == o->term) {
        lk_info_free(info);
        observation_end(o, same_term(), NULL);
        return;
    }
    if (o->once || !goes_on(status, info, o->term, o->until)) {
        observation_end(o, status, info);
        return;
    }
    lk_info_free(info);
    status = wait_begin(o);
    if (status != LK_OK)
        observation_end(o, status, NULL);
}

static void on_moved(lk_status status, void *data)
{
    struct observation *o = data;

    status = status_of(status);
    if (status == LK_OK)
        status =
            lk__handle_info_by_async(&o->leader->seat, o->until, on_info, o);
    if (status != LK_OK)
        observation_end(o, status, NULL);
}

static lk_status wait_begin(struct observation *o)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .cancel = o->cancel};
    lk__wish wish = wish_of(o->leader, o->term, o->until, &options);

    if (is_over(o->leader, o->until))
        return LK_ETIMEDOUT;
    return lk__wait_for_async(&wish, on_moved, o);
}

lk_status lk_leader_observe_async(lk_leader *leader, uint64_t term,
                                  int64_t wait_ms, lk_cancel *cancel,
                                  lk_info_cb cb, void *data)
{
    lk_status status = lk__leader_check(leader, leader);
    struct observation *o;

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status == LK_OK)
        status = lk__wait_check(wait_ms);
    if (status != LK_OK)
        return status;
    o = lk__alloc(sizeof(*o));
    if (o == NULL)
        return LK_ENOMEM;
    *o = (struct observation){.leader = lk__leader_ref(leader),
                              .term = term,
                              .until = observed_until(leader, wait_ms),
                              .once = wait_ms == 0,
                              .cancel = cancel,
                              .cb = cb,
                              .data = data};
    status = o->once ? lk__handle_info_async(&leader->seat, on_info, o)
                     : wait_begin(o);
    if (status != LK_OK) {
        lk__leader_unref(leader);
        lk__free(o);
    }
    return status;
}
