/* SPDX-License-Identifier: MIT */

/*
 * The watch: one question or wait after the other, and between them the user's
 * callback. It is always at one of these:
 *
 *   ASKING   a question or a wait is under way, and ends in on_news()
 *   DUE      the post is due, or runs: it tells, or asks again
 *   PAUSED   after a failure, until its nap is over
 *   ENDED    nothing comes any more
 *
 * This chain has a reference of its own until it has ended. Whoever ends it
 * sets ENDED inside the monitor and lets go of that reference outside.
 */

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/nap.h"
#include "leader/leader.h"

enum { PAUSE_MS = 1000 };

#define MS UINT64_C(1000000)

enum stage { ASKING, DUE, PAUSED, ENDED };

struct lk_leader_watch {
    lk_leader *leader; /* counted */
    lk_client *client; /* the leader's */
    lk_cancel *cancel; /* ends the wait under way */
    lk_leader_cb cb;
    void *data;
    atomic_uint refs; /* the user's and the chain's */
    enum stage at;
    bool stopped;  /* by the user */
    bool has_news; /* status and info, to be told */
    bool knows;    /* the term, and that it is told of it */
    uint64_t term;
    lk_status told; /* the last one, so that a failure is told once */
    lk_status status;
    lk_info *info;
    lk__post post;
    lk__nap nap;
};

static void watch_unref(lk_leader_watch *watch)
{
    if (atomic_fetch_sub(&watch->refs, 1) > 1)
        return;
    lk_info_free(watch->info);
    lk_cancel_free(watch->cancel);
    lk__leader_unref(watch->leader);
    lk__free(watch);
}

/* ---- asking ------------------------------------------------------------------ */

/* Inside the monitor. */
static void due(lk_leader_watch *watch)
{
    watch->at = DUE;
    lk__client_post(watch->client, &watch->post);
}

static void on_news(lk_status status, lk_info *info, void *data)
{
    lk_leader_watch *watch = data;
    bool ends;

    lk__client_lock(watch->client);
    ends = watch->stopped;
    watch->status = status;
    watch->info = info;
    watch->has_news = true;
    if (ends)
        watch->at = ENDED;
    else
        due(watch);
    lk__client_leave(watch->client);
    if (ends)
        watch_unref(watch);
}

/* After a failure, too, it asks what is so now. An outage is told, so the wait has a
   limit. */
static void ask(lk_leader_watch *watch)
{
    lk_status status;

    if (watch->knows)
        status = lk_leader_observe_async(watch->leader, watch->term,
                                         (int64_t)LK__TIME_MAX_MS,
                                         watch->cancel, on_news, watch);
    else
        status = lk_leader_get_async(watch->leader, on_news, watch);
    if (status != LK_OK)
        on_news(status, NULL, watch);
}

/* ---- telling ------------------------------------------------------------------- */

static void tell(lk_leader_watch *watch)
{
    lk_info *info = watch->info;
    lk_status status = watch->status;
    bool is_said = status != LK_OK && status == watch->told;

    watch->info = NULL;
    watch->has_news = false;
    watch->told = status;
    watch->knows = status == LK_OK;
    watch->term = lk_leader_term(info);
    if (!is_said)
        watch->cb(status, watch->term != 0 ? info->holders[0] : NULL,
                  watch->data);
    lk_info_free(info);
}

/* Decides what comes after a callback. Nothing rests where the client is shut down:
   that is to be told. */
static void advance(lk_leader_watch *watch)
{
    enum stage next = PAUSED;

    lk__client_lock(watch->client);
    if (watch->stopped || watch->told == LK_ECLOSED)
        next = ENDED;
    else if (watch->told == LK_OK || watch->client->state != LK__CLIENT_OPEN)
        next = ASKING;
    else
        lk__nap_take(&watch->nap, PAUSE_MS * MS);
    watch->at = next;
    lk__client_leave(watch->client);
    if (next == ASKING)
        ask(watch);
    else if (next == ENDED)
        watch_unref(watch);
}

static void on_post(lk__post *post)
{
    lk_leader_watch *watch = LK__CONTAINER_OF(post, lk_leader_watch, post);
    bool ends;

    lk__client_lock(watch->client);
    ends = watch->stopped;
    if (ends)
        watch->at = ENDED;
    else if (!watch->has_news)
        watch->at = ASKING;
    lk__client_leave(watch->client);
    if (ends) {
        watch_unref(watch);
    } else if (watch->has_news) {
        tell(watch);
        advance(watch);
    } else {
        ask(watch);
    }
}

static void on_rested(lk__nap *nap)
{
    due(LK__CONTAINER_OF(nap, lk_leader_watch, nap));
}

/* ---- the calls ------------------------------------------------------------------- */

lk_status lk_leader_watch_new(lk_leader_watch **ret_watch, lk_leader *leader,
                              lk_leader_cb cb, void *data)
{
    lk_status status = lk__leader_check(leader, ret_watch);
    lk_leader_watch *watch;

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status != LK_OK)
        return status;
    watch = lk__alloc(sizeof(*watch));
    if (watch == NULL)
        return LK_ENOMEM;
    watch->leader = lk__leader_ref(leader);
    watch->client = leader->seat.place->client;
    watch->refs = 2;
    watch->cb = cb;
    watch->data = data;
    watch->post.run = on_post;
    watch->nap.client = watch->client;
    watch->nap.over = on_rested;
    status = lk_cancel_new(&watch->cancel, watch->client);
    if (status == LK_OK)
        status = lk_leader_get_async(leader, on_news, watch);
    if (status != LK_OK) {
        watch->refs = 1;
        watch_unref(watch);
        return status;
    }
    *ret_watch = watch;
    return LK_OK;
}

void lk_leader_watch_free(lk_leader_watch *watch)
{
    lk_client *client;
    bool ends;

    if (watch == NULL || lk__client_check(watch->client) != LK_OK)
        return;
    client = watch->client;
    lk__client_lock(client);
    watch->stopped = true;
    lk__client_unpost(client, &watch->post);
    ends = watch->at == PAUSED ||
           (watch->at == DUE && !lk__client_runs(client, &watch->post));
    lk__nap_stop(&watch->nap);
    if (ends)
        watch->at = ENDED;
    lk__client_leave(client);
    lk_cancel_fire(watch->cancel);
    if (ends)
        watch_unref(watch);
    watch_unref(watch);
}
