/* SPDX-License-Identifier: MIT */

/*
 * Replicas. Round after round, as long as there are needs: a renewal for each
 * that was not written yet, and one WAIT for the smallest number that is
 * needed. Its answer is how many replicas have all that the lane had written by
 * then, so it decides about every need that was written. A WAIT is short: a
 * need that comes meanwhile has to wait for its end.
 */

#include "claims/replica.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/mem.h"
#include "claims/claim.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/protocol.h"
#include "claims/watchdog.h"
#include "server/reply.h"

#define MS UINT64_C(1000000)

enum {
    WAIT_MS = 50,   /* the server adds up to a tenth of a second */
    REFUSED_MS = 50 /* the pause after a refusal that may pass */
};

static void drive(lk__replicas *replicas);

static lk__replicas *replicas_of_wait(lk__request *request)
{
    return LK__CONTAINER_OF(request, lk__replicas, wait);
}

lk__need *lk__need_of_call(lk__call *call)
{
    return LK__CONTAINER_OF(call, lk__need, call);
}

/* ---- life ---------------------------------------------------------------- */

static void list_add(lk__replicas *replicas, lk__need *need)
{
    need->listed = true;
    need->replicas = replicas;
    need->next = replicas->first;
    if (need->next != NULL)
        need->next->prev = need;
    replicas->first = need;
}

static void list_remove(lk__need *need)
{
    lk__replicas *replicas = need->replicas;

    if (need->prev != NULL)
        need->prev->next = need->next;
    else
        replicas->first = need->next;
    if (need->next != NULL)
        need->next->prev = need->prev;
    need->next = need->prev = NULL;
    need->listed = false;
}

lk__need *lk__need_new(uint64_t count, uint64_t ms)
{
    lk__need *need = lk__alloc(sizeof(*need));

    if (need == NULL)
        return NULL;
    need->count = count;
    need->ms = ms;
    return need;
}

static void need_free(lk__need *need)
{
    if (need->claim != NULL)
        lk__claim_unref(need->claim);
    lk__free(need);
}

void lk__need_release(lk__need *need)
{
    if (need == NULL)
        return;
    need->released = true;
    if (!need->renewal.busy)
        need_free(need);
}

/* No other need ends with it, so what follows it in the list stays there. */
static void end(lk__need *need, lk_status status, const char *words)
{
    if (!need->listed)
        return;
    list_remove(need);
    lk__alarm_clear(&need->call.client->alarms, &need->alarm);
    if ((status == LK_OK || status == LK_EREPLICAS) &&
        !lk__claim_is_valid(need->claim)) {
        status = LK_ELOST; /* meanwhile */
        words = NULL;
    }
    lk__call_done(&need->call, status, words);
}

static void end_late(lk__need *need)
{
    char words[96];

    snprintf(words, sizeof(words),
             "%" PRIu64 " of %" PRIu64 " replicas had it in time", need->had,
             need->count);
    end(need, LK_EREPLICAS, words);
}

static void on_alarm(lk__alarm *alarm)
{
    end_late(LK__CONTAINER_OF(alarm, lk__need, alarm));
}

void lk__needs_cancel(lk__node *node)
{
    lk__need *next;

    for (lk__need *need = node->replicas.first; need != NULL; need = next) {
        next = need->next;
        if (lk__cancel_is_fired(need->cancel))
            end(need, LK_ECANCELED, NULL);
    }
}

void lk__needs_moved(lk__node *node)
{
    lk__need *next;

    for (lk__need *need = node->replicas.first; need != NULL; need = next) {
        lk__replicas *replicas = &need->claim->place->node->replicas;

        next = need->next;
        if (need->replicas == replicas)
            continue;
        list_remove(need);
        list_add(replicas, need);
        need->written = false;
        need->renew_at = 0;
        lk__conn_start(&replicas->lane.conn);
        drive(replicas);
    }
}

void lk__needs_end(lk__node *node, lk_status status)
{
    while (node->replicas.first != NULL)
        end(node->replicas.first, status, NULL);
}

/* ---- the renewal ------------------------------------------------------------ */

/* A WAIT may be answered at once, and would have it refused again. */
static void renew_later(lk__need *need)
{
    lk_client *client = need->call.client;
    lk__replicas *replicas = need->replicas;

    need->renew_at = lk__client_now(client) + REFUSED_MS * MS;
    if (!lk__alarm_is_set(&replicas->alarm))
        lk__alarm_set(&client->alarms, &replicas->alarm, need->renew_at);
}

static void on_renewal_answer(lk__need *need, const redisReply *reply)
{
    lk_status status = lk__node_check(&need->renewal, reply);
    lk__keep_answer answer = {.is_held = false};

    if (lk__reply_is_noscript(reply))
        return; /* it is said again */
    if (lk__node_passes(&need->renewal, reply)) {
        renew_later(need);
        return;
    }
    if (status == LK_OK)
        status = lk__claim_protocol(need->claim)
                     ->read_keep(reply, need->claim->fence, &answer);
    if (status != LK_OK) {
        end(need, status, lk__reply_words(reply));
    } else if (!answer.is_held) {
        if (need->claim->state == LK__CLAIM_HELD)
            lk__claim_lose(need->claim, answer.loss);
        end(need, LK_ELOST, NULL);
    } else {
        need->written = true;
        if (need->claim->state == LK__CLAIM_HELD)
            lk__watchdog_renewed(need->claim, need->renewal.sent_at,
                                 lk__claim_kept_ms(need->claim, &answer,
                                                   need->renewal.sent_at,
                                                   need->lease_ms));
    }
}

static void
on_renewal(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__need *need = (lk__need *)(void *)request;

    status = lk__place_heard(need->claim->place, request, status, reply);
    if (need->listed && lk__place_has_left(need->claim->place, request))
        drive(need->replicas); /* it is renewed where it is now */
    else if (status == LK_OK && need->listed)
        on_renewal_answer(need, reply);
    else if (reply != NULL && need->listed)
        renew_later(need); /* not done, or not by this node */
    if (need->released)
        need_free(need);
}

/*
 * It is kept as a whole, wherever its lease is: in the name's own key, or beside.
 * It has to write, or WAIT would answer for what was before it. A lease is only
 * lengthened; so it is asked for a millisecond more than ever before.
 */
static uint64_t lease_to_ask(lk__need *need, uint64_t now)
{
    lk__claim *claim = need->claim;
    uint64_t ms;

    need->lease_ms = lk__watchdog_lease(claim, now);
    ms = claim->asked_ms > need->lease_ms ? claim->asked_ms : need->lease_ms;
    lk__claim_asked(claim, now, ms + 1);
    return ms + 1;
}

static void renew(lk__replicas *replicas, lk__need *need)
{
    lk_client *client = need->call.client;
    uint64_t lease_ms = lease_to_ask(need, lk__client_now(client));
    const lk__claim *claim = need->claim;
    const lk__question *question =
        lk__claim_protocol(claim)->keep(claim, lease_ms, 0);
    lk_status status = LK_ENOMEM;

    need->renewal.on_reply = on_renewal;
    if (question != NULL)
        status =
            lk__question_send(&replicas->lane.conn, &need->renewal, question);
    if (status != LK_OK)
        end(need, status, NULL);
}

/* ---- the wait ------------------------------------------------------------------ */

/* What another connection has counted may have been another master's. */
static uint64_t known(const lk__replicas *replicas, const lk__claim *claim)
{
    const lk__extra *extra = claim->extra;

    return extra != NULL && extra->replicas_by == replicas->downs
               ? extra->replicas
               : 0;
}

/* Without memory they are counted again. */
static void
known_note(const lk__replicas *replicas, lk__claim *claim, uint64_t had)
{
    lk__extra *extra = lk__claim_extra(claim);

    if (extra == NULL)
        return;
    if (known(replicas, claim) < had)
        extra->replicas = had;
    extra->replicas_by = replicas->downs;
}

static void judge(lk__replicas *replicas, lk__need *need, uint64_t had)
{
    need->had = had;
    if (had < need->count)
        return;
    known_note(replicas, need->claim, had);
    end(need, LK_OK, NULL);
}

static void on_wait_answer(lk__replicas *replicas, const redisReply *reply)
{
    lk_status status = lk__reply_status(reply);
    lk__need *next;

    if (status == LK_OK && reply->type != REDIS_REPLY_INTEGER)
        status = LK_EPROTO;
    lk__lane_serves(&replicas->lane);
    for (lk__need *need = replicas->first; need != NULL; need = next) {
        next = need->next;
        if (status != LK_OK)
            end(need, status, lk__reply_words(reply));
        else if (!lk__claim_is_valid(need->claim))
            end(need, LK_ELOST, NULL);
        else if (need->written)
            judge(replicas, need, (uint64_t)reply->integer);
    }
}

static void
on_wait(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__replicas *replicas = replicas_of_wait(request);

    if (status == LK_OK)
        on_wait_answer(replicas, reply);
    drive(replicas);
}

/* Its renewal is before what is sent now. One that has moved here may have left
   its renewal at the node before. */
static bool is_on_its_way(const lk__replicas *replicas, const lk__need *need)
{
    return need->renewal.busy && need->renewal.conn == &replicas->lane.conn;
}

/* The smallest number of those of which its answer is to speak; 0: of none. */
static uint64_t fewest_of(const lk__replicas *replicas)
{
    uint64_t fewest = 0;

    for (const lk__need *need = replicas->first; need != NULL;
         need = need->next) {
        if ((need->written || is_on_its_way(replicas, need)) &&
            (fewest == 0 || need->count < fewest))
            fewest = need->count;
    }
    return fewest;
}

static void wait_send(lk__replicas *replicas)
{
    lk__conn *conn = &replicas->lane.conn;
    uint64_t fewest = fewest_of(replicas);
    lk__arg args[3] = {lk__arg_text("WAIT")};

    if (fewest == 0)
        return;
    args[1] = lk__arg_number((int64_t)fewest);
    args[2] = lk__arg_number(WAIT_MS);
    lk__lane_patience(&replicas->lane, WAIT_MS * MS);
    replicas->wait.on_reply = on_wait;
    if (lk__conn_send(conn, &replicas->wait, 3, args) != LK_OK)
        lk__conn_break(conn, LK_ENOMEM, "no memory for a request");
}

static void drive(lk__replicas *replicas)
{
    uint64_t now = lk__client_now(replicas->lane.conn.client);
    lk__need *next;

    if (!lk__lane_is_ready(&replicas->lane) || replicas->wait.busy)
        return;
    for (lk__need *need = replicas->first; need != NULL; need = next) {
        next = need->next;
        if (!need->written && !need->renewal.busy && now >= need->renew_at)
            renew(replicas, need);
    }
    wait_send(replicas);
}

/* Those that were refused later than the first one are met then, too. */
static void on_refused_alarm(lk__alarm *alarm)
{
    lk__replicas *replicas = LK__CONTAINER_OF(alarm, lk__replicas, alarm);

    for (lk__need *need = replicas->first; need != NULL; need = need->next)
        need->renew_at = 0;
    drive(replicas);
}

/* ---- needs ------------------------------------------------------------------------ */

void lk__need_begin(lk__need *need, lk__claim *claim, const lk_cancel *cancel,
                    void (*deliver)(lk__call *call))
{
    lk_client *client = claim->place->client;
    lk__replicas *replicas = &claim->place->node->replicas;

    lk__call_init(&need->call, client, deliver);
    need->claim = lk__claim_ref(claim);
    need->cancel = cancel;
    list_add(replicas, need);
    if (client->state != LK__CLIENT_OPEN) {
        end(need, LK_ECLOSED, NULL);
        return;
    }
    if (lk__cancel_is_fired(cancel)) {
        end(need, LK_ECANCELED, NULL);
        return;
    }
    if (known(replicas, claim) >= need->count) {
        end(need, LK_OK, NULL);
        return;
    }
    need->alarm.fire = on_alarm;
    lk__alarm_set(&client->alarms, &need->alarm,
                  lk__client_now(client) + need->ms * MS);
    lk__conn_start(&replicas->lane.conn);
    drive(replicas);
}

lk_status lk__need_sleep(lk__need *need)
{
    if (!lk__call_sleep(&need->call,
                        lk__wait_until_ns(lk__client_now(need->call.client),
                                          (int64_t)need->ms)))
        end_late(need);
    return lk__call_status(&need->call);
}

/* ---- the lane --------------------------------------------------------------------- */

static void on_ready(lk__lane *lane)
{
    lk__node *node = lk__node_of(&lane->conn);

    if (lk__node_is_ready(node))
        lk__lane_together(lane, node->command_greeting.run_id);
    drive(&node->replicas);
}

/* WAIT does not count what another connection has written. */
static void on_down(lk__lane *lane)
{
    lk__replicas *replicas = &lk__node_of(&lane->conn)->replicas;

    replicas->downs++;
    for (lk__need *need = replicas->first; need != NULL; need = need->next)
        need->written = false;
}

void lk__replicas_init(lk__replicas *replicas, lk__node *node)
{
    lk__lane_init(&replicas->lane, "replica", node->client, node, on_ready,
                  on_down);
    replicas->alarm.fire = on_refused_alarm;
}

void lk__replicas_stop(lk__replicas *replicas)
{
    lk__alarm_clear(&replicas->lane.conn.client->alarms, &replicas->alarm);
    lk__conn_stop(&replicas->lane.conn);
}
