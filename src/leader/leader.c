/* SPDX-License-Identifier: MIT */

/*
 * To lead: the fair lock's hold, with a renewed lease of its own length, a
 * notice that is set before anybody sees the hold, and a word to those who
 * observe. Who leads is decided by the fair lock alone.
 */

#include "leader/leader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/ask.h"
#include "lock/exclusive.h"

/* ---- new and free ------------------------------------------------------------ */

static uint64_t
lease_of(const lk_leader_options *options, const lk_client *client)
{
    return options->lease_ms != 0 ? options->lease_ms
                                  : client->settings.watchdog_ms;
}

static lk_status options_check(const lk_leader_options *options)
{
    if (options->lease_ms != 0 && lk__lease_check(options->lease_ms) != LK_OK)
        return LK_EINVAL;
    if (options->notice_ms > LK__TIME_MAX_MS)
        return lk__fail(LK_EINVAL, "notice_ms is out of range");
    if (options->value != NULL &&
        strnlen(options->value, LK_LEADER_VALUE_MAX + 1) > LK_LEADER_VALUE_MAX)
        return lk__fail(LK_EINVAL, "the value is longer than %d bytes",
                        LK_LEADER_VALUE_MAX);
    return LK_OK;
}

/* Of a term with this lease; 0: with the handle's own. */
static uint64_t notice_of(const lk_leader *leader, uint64_t lease_ms)
{
    if (lease_ms == 0)
        lease_ms = leader->lease_ms;
    return leader->notice_ms != 0 ? leader->notice_ms : lease_ms / 3;
}

static lk_status notice_refuse(void)
{
    return lk__fail(LK_EINVAL, "the notice has to be shorter than the lease");
}

/* Of a handle that is new. */
static lk_status fill(lk_leader *leader, const lk_leader_options *options)
{
    const lk__place *place = leader->seat.place;

    leader->lease_ms = lease_of(options, place->client);
    leader->notice_ms = options->notice_ms;
    if (notice_of(leader, 0) >= leader->lease_ms)
        return notice_refuse();
    leader->lost = options->lost;
    leader->lost_data = options->lost_data;
    leader->value = lk__strdup(options->value != NULL ? options->value : "");
    if (leader->value == NULL)
        return LK_ENOMEM;
    return lk__handle_new(&leader->watch, sizeof(lk__handle), place->client,
                          &lk__kind_observer, place->name);
}

lk_status lk_leader_new(lk_leader **ret_leader, lk_client *client,
                        const char *name, const lk_leader_options *options)
{
    lk_leader_options copy;
    lk_leader *leader;
    lk__handle *seat;
    lk_status status = lk__options_copy(&copy, sizeof(copy), options);

    if (ret_leader == NULL)
        return lk__fail(LK_EINVAL, "ret_leader is NULL");
    if (status == LK_OK)
        status = options_check(&copy);
    if (status == LK_OK)
        status = lk__handle_new(&seat, sizeof(*leader), client,
                                &lk__kind_fairlock, name);
    if (status != LK_OK)
        return status;
    leader = (lk_leader *)(void *)seat;
    leader->refs = 1;
    status = fill(leader, &copy);
    if (status != LK_OK)
        lk__leader_unref(leader);
    else
        *ret_leader = leader;
    return status;
}

lk_leader *lk__leader_ref(lk_leader *leader)
{
    atomic_fetch_add(&leader->refs, 1);
    return leader;
}

void lk__leader_unref(lk_leader *leader)
{
    if (atomic_fetch_sub(&leader->refs, 1) > 1)
        return;
    lk__handle_free(leader->watch);
    lk__free(leader->value);
    lk__handle_free(&leader->seat);
}

void lk_leader_free(lk_leader *leader)
{
    if (leader != NULL && lk__client_check(leader->seat.place->client) == LK_OK)
        lk__leader_unref(leader);
}

lk_status lk__leader_check(const lk_leader *leader, const void *ret)
{
    if (leader == NULL)
        return lk__fail(LK_EINVAL, "the handle is NULL");
    return lk__handle_check(&leader->seat, ret);
}

/* ---- the word to those who observe --------------------------------------------- */

static lk_status
announced_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    (void)ask;
    (void)reply;
    *ret_more = false;
    return LK_OK;
}

static void announced(lk__call *call)
{
    lk__ask_finish(lk__ask_of_call(call));
}

/* Whoever does not hear it looks all the same, so nothing hangs on it. */
void lk__leader_announce(lk_leader *leader, uint64_t term)
{
    lk__place *place = leader->watch->place;
    const lk__channel *channel = &lk__topic_of(place, LK__TOPIC_OWN)->channel;
    char text[32];
    lk__arg args[3];
    lk__ask *ask;

    if (lk__client_enter(place->client) != LK_OK)
        return;
    snprintf(text, sizeof(text), "term %" PRIu64, term);
    args[0] = lk__arg_text(
        lk__channel_is_sharded(channel, place->node) ? "SPUBLISH" : "PUBLISH");
    args[1] = lk__arg_text(lk__channel_name(channel));
    args[2] = lk__arg_text(text);
    ask = lk__ask_new(sizeof(*ask), place->client, place, announced);
    if (ask != NULL) {
        ask->reads = true; /* said twice it does no harm */
        ask->take = announced_take;
        if (lk__ask_command(ask, 3, args) == LK_OK)
            lk__ask_begin(ask);
        else
            lk__ask_release(ask);
    }
    lk__client_leave(place->client);
}

/* ---- campaign ------------------------------------------------------------------ */

/* Copies the options, and says how to wait by them. */
static lk_status wish_make(lk__wish *wish, lk_acquire_options *copy,
                           const lk_leader *leader, int64_t wait_ms,
                           const lk_acquire_options *options)
{
    lk_status status =
        lk__acquire_options_take(leader->seat.place, options, copy);

    if (status == LK_OK && copy->lease_ms != 0 &&
        notice_of(leader, copy->lease_ms) >= copy->lease_ms)
        status = notice_refuse();
    if (copy->reason == NULL)
        copy->reason = leader->value;
    *wish = (lk__wish){.place = leader->seat.place,
                       .wait_ms = wait_ms,
                       .renewed_ms = leader->lease_ms,
                       .options = copy,
                       .line = LK__LINE_OWN};
    return status;
}

/* Nobody has seen the hold yet. The callback may be called at once, and release
   it. Out of memory: a leader that could not be told of its end is none. */
static lk_status elected(lk_leader *leader, lk_hold *hold, uint64_t notice_ms)
{
    uint64_t fence = lk_hold_fence(hold);
    lk_status status = LK_OK;

    if (leader->lost != NULL)
        status =
            lk_hold_on_lost(hold, notice_ms, leader->lost, leader->lost_data);
    if (status == LK_ENOMEM)
        (void)lk_hold_release(hold);
    else if (status == LK_OK)
        lk__leader_announce(leader, fence);
    return status == LK_ENOMEM ? status : LK_OK; /* else the hold is no good */
}

lk_status lk_leader_campaign(lk_leader *leader, int64_t wait_ms,
                             const lk_acquire_options *options,
                             lk_hold **ret_hold)
{
    lk_acquire_options copy;
    lk__wish wish;
    lk_status status = lk__leader_check(leader, ret_hold);

    if (status == LK_OK)
        status = wish_make(&wish, &copy, leader, wait_ms, options);
    if (status != LK_OK)
        return status;
    lk__leader_ref(leader);
    status = lk__wait_acquire(&wish, ret_hold);
    if (status == LK_OK)
        status = elected(leader, *ret_hold, notice_of(leader, copy.lease_ms));
    if (status != LK_OK)
        *ret_hold = NULL;
    lk__leader_unref(leader);
    return status;
}

/* A callback of the user's, and the handle that its call is about. */
struct errand {
    lk_leader *leader; /* counted */
    lk_acquire_cb cb;
    lk_done_cb done; /* may be NULL: nobody wants to know */
    void *data;
    uint64_t notice_ms; /* of a campaign */
};

static struct errand *errand_new(lk_leader *leader, void *data)
{
    struct errand *errand = lk__alloc(sizeof(*errand));

    if (errand != NULL) {
        errand->leader = lk__leader_ref(leader);
        errand->data = data;
    }
    return errand;
}

static void errand_free(struct errand *errand)
{
    lk__leader_unref(errand->leader);
    lk__free(errand);
}

static void on_elected(lk_status status, lk_hold *hold, void *data)
{
    struct errand *errand = data;

    if (status == LK_OK)
        status = elected(errand->leader, hold, errand->notice_ms);
    errand->cb(status, status == LK_OK ? hold : NULL, errand->data);
    errand_free(errand);
}

lk_status lk_leader_campaign_async(lk_leader *leader, int64_t wait_ms,
                                   const lk_acquire_options *options,
                                   lk_acquire_cb cb, void *data)
{
    lk_acquire_options copy;
    struct errand *errand;
    lk__wish wish;
    lk_status status = lk__leader_check(leader, leader);

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status == LK_OK)
        status = wish_make(&wish, &copy, leader, wait_ms, options);
    if (status != LK_OK)
        return status;
    errand = errand_new(leader, data);
    if (errand == NULL)
        return LK_ENOMEM;
    errand->cb = cb;
    errand->notice_ms = notice_of(leader, copy.lease_ms);
    status = lk__wait_acquire_async(&wish, on_elected, errand);
    if (status != LK_OK)
        errand_free(errand);
    return status;
}

/* ---- resign -------------------------------------------------------------------- */

lk_status lk_leader_resign(lk_leader *leader, lk_hold *hold)
{
    lk_status status = lk__leader_check(leader, leader);

    if (status != LK_OK)
        return status;
    lk__leader_ref(leader);
    status = lk_hold_release(hold);
    if (hold != NULL)
        lk__leader_announce(leader, 0);
    lk__leader_unref(leader);
    return status;
}

static void on_resigned(lk_status status, void *data)
{
    struct errand *errand = data;

    lk__leader_announce(errand->leader, 0);
    if (errand->done != NULL)
        errand->done(status, errand->data);
    errand_free(errand);
}

lk_status lk_leader_resign_async(lk_leader *leader, lk_hold *hold,
                                 lk_done_cb cb, void *data)
{
    lk_status status = lk__leader_check(leader, leader);
    struct errand *errand;

    if (status != LK_OK)
        return status;
    errand = errand_new(leader, data);
    if (errand == NULL)
        return LK_ENOMEM;
    errand->done = cb;
    status = lk_hold_release_async(hold, on_resigned, errand);
    if (status != LK_OK)
        errand_free(errand);
    return status;
}
