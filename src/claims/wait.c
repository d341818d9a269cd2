/* SPDX-License-Identifier: MIT */

/* Waits: standing in line, and every way in which that ends. */

#include "claims/wait.h"

#include <string.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/cluster.h"
#include "claims/hold.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/record.h"
#include "claims/work.h"
#include "engine/cancel.h"
#include "engine/owner.h"

/* ---- lists --------------------------------------------------------------- */

static void line_join(lk__wait *wait)
{
    lk__place *place = wait->place;

    wait->next = NULL;
    wait->prev = place->last_wait;
    if (wait->prev != NULL)
        wait->prev->next = wait;
    else
        place->first_wait = wait;
    place->last_wait = wait;
}

static void line_leave(lk__wait *wait)
{
    lk__place *place = wait->place;

    if (wait->prev != NULL)
        wait->prev->next = wait->next;
    else
        place->first_wait = wait->next;
    if (wait->next != NULL)
        wait->next->prev = wait->prev;
    else
        place->last_wait = wait->prev;
}

void lk__wait_step_back(lk__wait *wait)
{
    line_leave(wait);
    line_join(wait);
}

static void lists_add(lk__wait *wait)
{
    lk__place *place = wait->place;
    lk_client *client = wait->call.client;

    line_join(wait);
    wait->next_all = client->work->first_wait;
    if (wait->next_all != NULL)
        wait->next_all->prev_all = wait;
    client->work->first_wait = wait;
    if (client->stats.waiting++ == 0)
        lk__cluster_rouse(client->work->cluster);
    place->refs++;
}

static void lists_remove(lk__wait *wait)
{
    lk__work *work = wait->call.client->work;

    line_leave(wait);
    if (work->next_wait == wait)
        work->next_wait = wait->next_all;
    if (wait->prev_all != NULL)
        wait->prev_all->next_all = wait->next_all;
    else
        work->first_wait = wait->next_all;
    if (wait->next_all != NULL)
        wait->next_all->prev_all = wait->prev_all;
    wait->call.client->stats.waiting--;
}

/* ---- begin and end --------------------------------------------------------- */

void lk__wait_end(lk__wait *wait, lk_status status, const char *words)
{
    lk__place *place = wait->place;

    lists_remove(wait);
    lk__alarm_clear(&wait->call.client->alarms, &wait->alarm);
    if (wait->claim != NULL)
        lk__place_unseat(wait);
    lk__call_done(&wait->call, status, words);
    if (place->first_wait == NULL)
        lk__topics_drop(place);
    if (place->first_wait == NULL)
        lk__signal_drop(place);
    if (wait->line == LK__LINE_KIND)
        place->kind->tend(place);
    lk__place_drive(place);
    lk__place_unref(place);
}

bool lk__wait_reenter(lk__wait *wait)
{
    for (lk__claim *claim = wait->place->first_claim;
         claim != NULL && claim->was_held; claim = claim->next) {
        if (lk__claim_is_owned_by(claim, wait->owner)) {
            lk__wait_join(wait, claim);
            return true;
        }
    }
    return false;
}

/* This client itself holds it, or has others in line before. */
static bool is_busy_here(const lk__place *place)
{
    if (place->first_wait != NULL)
        return true;
    for (const lk__claim *claim = place->first_claim;
         claim != NULL && claim->was_held; claim = claim->next) {
        if (lk__claim_is_valid(claim))
            return true;
    }
    return false;
}

void lk__wait_join(lk__wait *wait, lk__claim *claim)
{
    lk__hold_bind(wait->hold, claim, wait->owner);
    lk__call_done(&wait->call, LK_OK, NULL);
}

void lk__wait_begin(lk__wait *wait)
{
    if (lk__cancel_is_fired(wait->cancel))
        lk__call_done(&wait->call, LK_ECANCELED, NULL);
    else if (wait->place->kind->meet != NULL && wait->place->kind->meet(wait))
        return;
    else if (lk__node_is_vain(wait->place->node))
        lk__call_done(&wait->call, wait->place->node->command.why,
                      wait->place->node->command.words);
    else if (wait->line == LK__LINE_COMMON && wait->try_only &&
             is_busy_here(wait->place))
        lk__call_done(&wait->call, LK_EBUSY, wait->place->kind->busy);
    else {
        lists_add(wait);
        if (wait->until != LK__NEVER)
            lk__node_wait_more(wait->place->node);
        lk__record_on_wait(wait->call.client);
        lk__under_on_wait(&wait->call.client->node->under);
        if (wait->line == LK__LINE_COMMON)
            lk__place_drive(wait->place);
        else if (wait->line == LK__LINE_KIND)
            wait->place->kind->tend(wait->place);
        else
            lk__place_seat(wait);
    }
}

/* ---- the end of a wait's time ------------------------------------------------ */

/* The claim that seeks for it; NULL: none does. */
static const lk__claim *claim_of(const lk__wait *wait)
{
    return wait->claim != NULL ? wait->claim : wait->place->front;
}

/* The last one that a claim is for leaves behind what that has sent. */
static bool leaves_doubt(const lk__wait *wait)
{
    const lk__claim *claim = claim_of(wait);
    bool is_last = wait->claim != NULL
                       ? wait->next_seat == NULL && wait->prev_seat == NULL
                       : wait->next == NULL && wait->prev == NULL;

    return is_last && claim != NULL && claim->state == LK__CLAIM_WANTED &&
           (claim->in_doubt || lk__claim_is_looking(claim));
}

/* The claim that it waits for has not been asked for. */
static bool is_held_back(const lk__wait *wait)
{
    const lk__claim *claim = claim_of(wait);

    return claim != NULL && claim->held_back;
}

static lk_status status_at_end(const lk__wait *wait)
{
    const lk__node *node = wait->place->node;

    if (leaves_doubt(wait))
        return LK_EINDOUBT;
    if (!wait->try_only)
        return LK_ETIMEDOUT;
    if (!lk__node_is_ready(node))
        return node->command.why;
    if (is_held_back(wait))
        return LK_EFULL;
    return lk__node_gives(node) ? LK_EBUSY : LK_EOFFLINE;
}

/* What the server said last is why, if that was a refusal. */
static void end_late(lk__wait *wait)
{
    const lk__node *node = wait->place->node;
    const lk__claim *claim = claim_of(wait);
    lk_status status = status_at_end(wait);
    const char *words = NULL;

    if ((status == LK_ETIMEDOUT || status == LK_EBUSY) && claim != NULL &&
        claim->seek->refusals > 0) {
        status = LK_ESERVER;
        words = node->refusal;
    } else if (is_held_back(wait) && lk__node_is_ready(node)) {
        words = "held back: the server does not keep up with renewals";
    } else if (lk__node_why_not(node) != NULL) {
        words = lk__node_why_not(node);
    } else if ((status == node->command.why || status == LK_ETIMEDOUT) &&
               !lk__node_is_ready(node)) {
        words = node->command.words;
    } else if (status == LK_ETIMEDOUT && lk__node_is_ready(node)) {
        words = wait->place->kind->busy;
    }
    lk__wait_end(wait, status, words);
}

static void on_alarm(lk__alarm *alarm)
{
    end_late(LK__CONTAINER_OF(alarm, lk__wait, alarm));
}

/* ---- what is wished ----------------------------------------------------------- */

lk_status lk__acquire_options_take(const lk__place *place,
                                   const lk_acquire_options *given,
                                   lk_acquire_options *ret_options)
{
    lk_status status =
        lk__options_copy(ret_options, sizeof(*ret_options), given);

    if (status != LK_OK)
        return status;
    if (ret_options->owner != NULL &&
        lk__owner_client(ret_options->owner) != place->client)
        return lk__fail(LK_EINVAL, "the owner is another client's");
    if (ret_options->cancel != NULL &&
        lk__cancel_client(ret_options->cancel) != place->client)
        return lk__fail(LK_EINVAL, "the cancel token is another client's");
    return LK_OK;
}

enum { REPLICAS_MAX = 1000 };

static lk_status replicas_check(lk_acquire_options *options)
{
    if (options->replicas > REPLICAS_MAX)
        return lk__fail(LK_EINVAL, "replicas has to be at most %d",
                        REPLICAS_MAX);
    if (options->replica_ms != 0 && options->replicas == 0)
        return lk__fail(LK_EINVAL, "replica_ms is for replicas");
    if (options->replica_ms > LK__TIME_MAX_MS)
        return lk__fail(LK_EINVAL, "replica_ms is out of range");
    if (options->replica_ms == 0)
        options->replica_ms = LK__REPLICA_MS;
    return LK_OK;
}

static lk_status
wish_check(const lk__wish *wish, lk_acquire_options *ret_options)
{
    lk_status status =
        lk__acquire_options_take(wish->place, wish->options, ret_options);

    if (status == LK_OK)
        status = lk__wait_check(wish->wait_ms);
    if (status == LK_OK && wish->place->kind->holdless &&
        (ret_options->owner != NULL || ret_options->lease_ms != 0 ||
         ret_options->replicas != 0))
        return lk__fail(LK_EINVAL, "nothing is held here: no owner, no lease, "
                                   "no replicas");
    if (status == LK_OK)
        status = replicas_check(ret_options);
    if (ret_options->lease_ms == 0)
        ret_options->lease_ms = wish->default_lease_ms;
    if (status == LK_OK && ret_options->lease_ms != 0)
        status = lk__lease_check(ret_options->lease_ms);
    return status;
}

enum { REASON_MAX = 200 };

/* False: no memory. */
static bool reason_copy(lk__wait *wait, const char *reason)
{
    if (reason == NULL || reason[0] == '\0')
        return true;
    wait->reason = lk__strndup(reason, strnlen(reason, REASON_MAX));
    return wait->reason != NULL;
}

/* The hold, if there is one, goes with a wait that was not granted. */
static void wait_free(lk__wait *wait, bool with_hold)
{
    if (with_hold && wait->hold != NULL)
        lk__hold_discard(wait->hold);
    if (wait->need != NULL && wait->need->claim != NULL) {
        lk__client_lock(wait->call.client);
        lk__need_release(wait->need);
        lk__client_leave(wait->call.client);
    } else {
        lk__need_release(wait->need);
    }
    lk__free(wait->reason);
    lk__free(wait);
}

/* deliver NULL: a blocking wait. */
static lk_status wait_new(lk__wait **ret_wait, const lk__wish *wish,
                          void (*deliver)(lk__call *call))
{
    lk_client *client = wish->place->client;
    lk_acquire_options options;
    lk_status status = wish_check(wish, &options);
    lk__wait *wait;

    if (status != LK_OK)
        return status;
    wait = lk__alloc(sizeof(*wait));
    if (wait == NULL)
        return LK_ENOMEM;
    wait->place = wish->place;
    if (!wish->place->kind->holdless)
        wait->hold = lk__hold_new(client);
    if (options.replicas != 0)
        wait->need = lk__need_new(options.replicas, options.replica_ms);
    if (!reason_copy(wait, options.reason) ||
        (wait->hold == NULL && !wish->place->kind->holdless) ||
        (wait->need == NULL && options.replicas != 0)) {
        wait_free(wait, true);
        return LK_ENOMEM;
    }
    wait->line = wish->line;
    wait->own = wish->own;
    wait->terms = wish->terms;
    wait->spin = wish->spin;
    wait->owner = lk__owner_number(options.owner, deliver == NULL);
    wait->call.post.inner = options.owner != NULL && options.owner->inner;
    if (wait->hold != NULL)
        wait->hold->inner = wait->call.post.inner;
    wait->watchdog = options.lease_ms == 0;
    wait->lease_ms = options.lease_ms;
    if (wait->watchdog)
        wait->lease_ms = wish->renewed_ms != 0 ? wish->renewed_ms
                                               : client->settings.watchdog_ms;
    wait->mark = wish->mark;
    wait->try_only = wish->wait_ms == 0;
    wait->yields =
        wait->try_only && options.owner != NULL && options.owner->waits;
    wait->cancel = options.cancel;
    wait->alarm.fire = on_alarm;
    wait->until =
        lk__wait_until_ns(lk__client_now(client),
                          wait->try_only
                              ? (int64_t)client->settings.command_timeout_ms
                              : wish->wait_ms);
    wait->call.client = client;
    *ret_wait = wait;
    return LK_OK;
}

/* ---- the blocking acquire ------------------------------------------------------ */

/* It is held; but replicas must have it as well, or it is given back. */
static lk_status need_blocking(lk__wait *wait)
{
    lk_client *client = wait->call.client;
    lk_status status;

    lk__client_lock(client);
    lk__need_begin(wait->need, wait->hold->claim, wait->cancel, NULL);
    status = lk__need_sleep(wait->need);
    lk__client_leave(client);
    if (status == LK_OK)
        return LK_OK;
    lk__hold_drop(wait->hold);
    wait->hold = NULL;
    return status;
}

/* Inside the monitor, which it leaves. */
static lk_status wait_sleep(lk__wait *wait)
{
    lk_client *client = wait->call.client;

    lk__call_init(&wait->call, client, NULL);
    lk__wait_begin(wait);
    if (!lk__call_await(&wait->call, wait->until)) {
        end_late(wait);
        lk__client_leave(client);
    }
    return lk__call_status(&wait->call);
}

/* ret_hold NULL: of a holdless kind. The handle may be freed meanwhile: the
   wait keeps the place, and this the client. */
lk_status lk__wait_acquire(const lk__wish *wish, lk_hold **ret_hold)
{
    lk_client *client = wish->place->client;
    lk__wait *wait;
    lk_status status = wait_new(&wait, wish, NULL);

    if (status != LK_OK)
        return status;
    lk__client_ref(client);
    status = lk__client_enter_blocking(client);
    if (status == LK_OK) {
        status = wait_sleep(wait);
        lk__client_unref(client);
    }
    if (status == LK_OK && wait->need != NULL)
        status = need_blocking(wait);
    if (status == LK_OK && ret_hold != NULL)
        *ret_hold = wait->hold;
    wait_free(wait, status != LK_OK);
    lk__client_unref(client);
    return status;
}

lk_status lk__wait_for(const lk__wish *wish)
{
    return lk__wait_acquire(wish, NULL);
}

/* ---- the async acquire --------------------------------------------------------- */

static void async_end(lk__wait *wait, lk_status status)
{
    if (wait->done != NULL)
        wait->done(status, wait->data);
    else
        wait->cb(status, status == LK_OK ? wait->hold : NULL, wait->data);
    wait_free(wait, status != LK_OK);
}

static void need_deliver(lk__call *call)
{
    lk__wait *wait = lk__need_of_call(call)->data;

    if (call->status != LK_OK) {
        lk__hold_drop(wait->hold);
        wait->hold = NULL;
    }
    async_end(wait, lk__call_status(call)); /* with its words */
}

static void deliver(lk__call *call)
{
    lk__wait *wait = LK__CONTAINER_OF(call, lk__wait, call);
    lk_client *client = call->client;

    if (call->status != LK_OK || wait->need == NULL) {
        async_end(wait, call->status);
        return;
    }
    lk__client_lock(client);
    wait->need->data = wait;
    wait->need->call.post.inner = call->post.inner;
    lk__need_begin(wait->need, wait->hold->claim, wait->cancel, need_deliver);
    lk__client_leave(client);
}

/* One of cb and done is NULL. */
static lk_status
wait_async(const lk__wish *wish, lk_acquire_cb cb, lk_done_cb done, void *data)
{
    lk_client *client = wish->place->client;
    lk__wait *wait;
    lk_status status;

    if (cb == NULL && done == NULL)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    status = wait_new(&wait, wish, deliver);
    if (status != LK_OK)
        return status;
    status = lk__client_enter(client);
    if (status != LK_OK) {
        wait_free(wait, true);
        return status;
    }
    wait->cb = cb;
    wait->done = done;
    wait->data = data;
    lk__call_init(&wait->call, client, deliver);
    if (wait->until != LK__NEVER)
        lk__alarm_set(&client->alarms, &wait->alarm, wait->until);
    lk__wait_begin(wait);
    if (wait->call.done)
        lk__alarm_clear(&client->alarms, &wait->alarm);
    lk__client_leave(client);
    return LK_OK;
}

lk_status
lk__wait_acquire_async(const lk__wish *wish, lk_acquire_cb cb, void *data)
{
    return wait_async(wish, cb, NULL, data);
}

lk_status lk__wait_for_async(const lk__wish *wish, lk_done_cb cb, void *data)
{
    return wait_async(wish, NULL, cb, data);
}

/* ---- all waits -------------------------------------------------------------------- */

/* The end of one may be that of others. */
void lk__waits_end(lk_client *client, lk_status status, const char *words)
{
    while (client->work->first_wait != NULL)
        lk__wait_end(client->work->first_wait, status, words);
}

/* The end of one may end others: those behind it have no place or no memory for
   a claim. So whoever leaves the list moves what comes next. */
static void waits_visit(lk_client *client, const lk__node *node,
                        void (*visit)(lk__wait *wait, const lk__node *node))
{
    lk__work *work = client->work;

    for (lk__wait *wait = work->first_wait; wait != NULL;
         wait = work->next_wait) {
        work->next_wait = wait->next_all;
        visit(wait, node);
    }
}

static void cancel(lk__wait *wait, const lk__node *node)
{
    (void)node;
    if (lk__cancel_is_fired(wait->cancel))
        lk__wait_end(wait, LK_ECANCELED, NULL);
}

void lk__waits_cancel(lk_client *client)
{
    waits_visit(client, NULL, cancel);
}

/* One without a limit rides out what passes by itself. */
static void give_up(lk__wait *wait, const lk__node *node)
{
    const lk__conn *conn = &node->command;

    if (wait->place->node == node &&
        (wait->until != LK__NEVER || !lk_status_is_retriable(conn->why)))
        lk__wait_end(wait, leaves_doubt(wait) ? LK_EINDOUBT : conn->why,
                     conn->words);
}

void lk__waits_give_up(lk__node *node)
{
    waits_visit(node->client, node, give_up);
}

bool lk__waits_have_limits(const lk__node *node)
{
    for (const lk__wait *wait = node->client->work->first_wait; wait != NULL;
         wait = wait->next_all) {
        if (wait->place->node == node && wait->until != LK__NEVER)
            return true;
    }
    return false;
}
