/* SPDX-License-Identifier: MIT */

/*
 * One server's part in a token:
 *
 *   begin -> pending -> granted -> renewed again and again -> close
 *               |          \-> gone: it said that the token does not stand
 *               \-> busy, refused, unreachable
 *
 * The delete of a close goes out behind the acquire, on the same connection, or
 * on one after which the old one was killed: so it comes last, also at a server
 * that was stopped. A renewal, which has a road of its own, may come behind it,
 * and finds no token then. All of it is within the client's monitor.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/mem.h"
#include "claims/node.h"
#include "claims/work.h"
#include "redlock/errand.h"
#include "redlock/token.h"

#define MS UINT64_C(1000000)

/* A release is asked for until every lease must have ended, and no less. */
enum { OWED_MS = 10 * 60000 };

/* ---- what an answer does ------------------------------------------------------ */

/* The words of what became of the acquire. Under the mutex. */
static void answer_set(lk__vote *vote, lk_redlock_answer answer,
                       lk_status status, const char *words)
{
    vote->answer = answer;
    vote->status = status;
    (void)snprintf(vote->words, sizeof(vote->words), "%.*s",
                   (int)sizeof(vote->words) - 1, words);
}

static uint64_t alarm_at(const lk__vote *vote)
{
    uint64_t at = lk__token_next_look(vote->token);

    return vote->renew_at < at ? vote->renew_at : at;
}

/* Sets the alarm. Under the mutex as well. */
static void vote_arm(lk__vote *vote)
{
    uint64_t at = alarm_at(vote);

    if (!vote->is_open || at == LK__NEVER)
        lk__alarm_clear(&vote->client->alarms, &vote->alarm);
    else
        lk__alarm_set(&vote->client->alarms, &vote->alarm, at);
}

/* Something was changed under the mutex, which is given back. */
static void vote_changed(lk__vote *vote)
{
    lk__token_look(vote->token, vote->client);
    vote_arm(vote);
    pthread_mutex_unlock(&vote->token->mutex);
}

static void renew_later(lk__vote *vote, uint64_t from)
{
    const lk__token *token = vote->token;

    if (token->renews)
        vote->renew_at = from + token->lease_ms * MS / 3;
}

/* Too young, or the same process as another client's. Under the mutex. */
static bool is_ineligible(lk__vote *vote)
{
    const lk__token *token = vote->token;
    const lk__node *node = vote->client->node;
    const int64_t begun_at = (int64_t)token->begun_at;
    const int64_t born_at = node->command_greeting.born_at;

    (void)snprintf(vote->server, sizeof(vote->server), "%s",
                   node->command_greeting.run_id);
    if (token->count == 1)
        return false;
    if (vote->server[0] == '\0') {
        answer_set(vote, LK_REDLOCK_ERROR, LK_EPROTO,
                   "INFO does not say which server it is");
        return true;
    }
    for (size_t i = 0; i < token->count; i++) {
        const lk__vote *other = &token->votes[i];

        if (other != vote && other->answer != LK_REDLOCK_DUPLICATE &&
            strcmp(other->server, vote->server) == 0) {
            char words[sizeof(vote->words)];

            (void)snprintf(words, sizeof(words), "the same server as node %zu",
                           i);
            answer_set(vote, LK_REDLOCK_DUPLICATE, LK_EMISMATCH, words);
            vote->is_gone = true;
            return true;
        }
    }
    /* Old enough when it was asked, not when it answered. */
    if (token->quarantine_ns != 0 &&
        (born_at > begun_at ||
         (uint64_t)(begun_at - born_at) < token->quarantine_ns)) {
        answer_set(vote, LK_REDLOCK_QUARANTINED, LK_EQUORUM,
                   "started more recently than the longest lease");
        return true;
    }
    return false;
}

static void acquire_answered(lk__vote *vote, const lk__errand *errand)
{
    const lk__token *token = vote->token;
    char words[sizeof(vote->words)];

    if (!errand->stands) {
        vote->may_stand = false;
        vote->end = LK__VOTE_FREE;
        (void)snprintf(words, sizeof(words),
                       "another's token, for %" PRId64 " ms more",
                       errand->left_ms);
        answer_set(vote, LK_REDLOCK_BUSY, LK_EBUSY,
                   errand->left_ms < 0 ? "another's token, without an end"
                                       : words);
    } else if (!is_ineligible(vote)) {
        answer_set(vote, LK_REDLOCK_GRANTED, LK_OK, "");
        vote->until = lk__deadline_ns(token->begun_at, errand->lease_ms);
        renew_later(vote, token->begun_at);
    }
}

/* Refused: nothing was written. In doubt, or not understood: it may stand, now or
   later. */
static void acquire_failed(lk__vote *vote, lk_status status, const char *words)
{
    bool unreachable = status == LK_EOFFLINE || status == LK_EINDOUBT;

    if (status != LK_EINDOUBT && status != LK_EOFFLINE &&
        status != LK_ECLOSED && status != LK_EPROTO) {
        vote->may_stand = false;
        vote->end = LK__VOTE_FREE;
    }
    answer_set(vote, unreachable ? LK_REDLOCK_UNREACHABLE : LK_REDLOCK_ERROR,
               status, words);
}

static void on_acquire_ended(lk__ask *ask)
{
    lk__errand *errand = lk__errand_of(ask);
    lk__vote *vote = errand->vote;

    pthread_mutex_lock(&vote->token->mutex);
    vote->acquire = NULL;
    if (ask->sends == 0) { /* nothing ever left */
        vote->may_stand = false;
        vote->end = LK__VOTE_FREE;
    }
    if (ask->call.status == LK_OK)
        acquire_answered(vote, errand);
    else
        acquire_failed(vote, ask->call.status, ask->call.words);
    vote_changed(vote);
}

/* ---- renewal --------------------------------------------------------------------- */

/* The server does not keep the token: it never will again. */
static void vote_gone(lk__vote *vote, lk_loss loss)
{
    vote->until = 0;
    vote->loss = loss;
    vote->token->last_loss = loss;
    vote->renew_at = LK__NEVER;
}

/* The process that answered it: the commands may be on their way to another
   one meanwhile. */
static const char *server_of(const lk__ask *ask)
{
    const lk__node *node = ask->call.client->node;

    return ask->over == &node->command ? node->command_greeting.run_id
                                       : node->road.lane.greeting.run_id;
}

static void renewed(lk__vote *vote, const lk__errand *errand)
{
    uint64_t until = lk__deadline_ns(errand->sent_at, errand->lease_ms);

    if (!errand->stands) {
        vote_gone(vote, errand->loss);
        return;
    }
    if (until > vote->until)
        vote->until = until;
    vote->seen_at = errand->sent_at;
    (void)snprintf(vote->server, sizeof(vote->server), "%s",
                   server_of(&errand->ask));
}

/* Again after a tenth of what is left between two renewals, more or less. */
static uint64_t renew_again_at(const lk__vote *vote)
{
    uint64_t pause = vote->token->lease_ms * MS / 30 + MS;

    return lk__client_now(vote->client) + pause / 2 +
           lk__client_random(vote->client, pause);
}

static void on_renew_ended(lk__ask *ask)
{
    lk__errand *errand = lk__errand_of(ask);
    lk__vote *vote = errand->vote;
    bool answered = ask->call.status == LK_OK;

    pthread_mutex_lock(&vote->token->mutex);
    if (errand->regular)
        vote->is_renewing = false;
    if (vote->is_open && vote->until != 0 && answered)
        renewed(vote, errand);
    if (vote->is_open && vote->until != 0 && errand->regular) {
        if (answered)
            renew_later(vote, errand->sent_at);
        else
            vote->renew_at = renew_again_at(vote);
    }
    vote_changed(vote);
}

static lk_status renew(lk__vote *vote, uint64_t lease_ms, bool regular)
{
    lk__errand *errand = lk__errand_keep(vote, lease_ms, on_renew_ended);

    if (errand == NULL)
        return LK_ENOMEM;
    errand->regular = regular;
    errand->ask.renews = true;
    vote->is_renewing = vote->is_renewing || regular;
    lk__ask_begin(&errand->ask);
    lk__ask_release(&errand->ask);
    return LK_OK;
}

static void on_alarm(lk__alarm *alarm)
{
    lk__vote *vote = LK__CONTAINER_OF(alarm, lk__vote, alarm);
    lk__token *token = vote->token;
    bool due;

    pthread_mutex_lock(&token->mutex);
    if (token->phase == LK__TOKEN_HELD)
        lk__token_look(token, vote->client);
    due = lk__client_now(vote->client) >= vote->renew_at && !vote->is_renewing;
    if (due)
        vote->renew_at = LK__NEVER; /* until it is answered */
    if (token->lost_at != 0)
        due = false;
    if (token->phase == LK__TOKEN_SEEKING && !due)
        lk__alarm_clear(&vote->client->alarms, &vote->alarm);
    else
        vote_arm(vote);
    pthread_mutex_unlock(&token->mutex);
    if (!due || renew(vote, token->lease_ms, true) == LK_OK)
        return;

    pthread_mutex_lock(&token->mutex);
    vote->renew_at = renew_again_at(vote);
    vote_arm(vote);
    pthread_mutex_unlock(&token->mutex);
}

/* ---- close ----------------------------------------------------------------------- */

static void on_release_ended(lk__ask *ask)
{
    lk__errand *errand = lk__errand_of(ask);
    lk__vote *vote = errand->vote;

    if (ask->call.status != LK_OK)
        return; /* it goes on, or the lease ends it */
    pthread_mutex_lock(&vote->token->mutex);
    vote->end = errand->stands ? LK__VOTE_FREE : LK__VOTE_WAS_GONE;
    vote_changed(vote);
}

/* Whether the server may have the token, now or later. */
static bool vote_may_stand(lk__vote *vote)
{
    bool may_stand;

    pthread_mutex_lock(&vote->token->mutex);
    if (vote->acquire != NULL && vote->acquire->ask.sends == 0) {
        vote->may_stand = false;
        vote->end = LK__VOTE_FREE;
    }
    may_stand = vote->may_stand;
    pthread_mutex_unlock(&vote->token->mutex);
    return may_stand;
}

/* Before the release, so that no acquire is sent again behind it. */
static void acquire_drop(lk__vote *vote)
{
    lk__errand *acquire = vote->acquire;

    vote->acquire = NULL;
    if (acquire != NULL)
        lk__ask_drop(&acquire->ask);
}

static void vote_end(lk__vote *vote)
{
    lk__errand *release = vote->release;
    bool may_stand = vote_may_stand(vote);

    vote->is_open = false;
    vote->release = NULL;
    lk__alarm_clear(&vote->client->alarms, &vote->alarm);
    lk__guest_remove(&vote->guest);
    acquire_drop(vote);
    if (release == NULL)
        return;
    if (may_stand)
        lk__ask_begin(&release->ask);
    lk__ask_release(&release->ask);
}

/* The client is shut down, which waits for what is asked here. */
static void on_leave(lk__guest *guest)
{
    lk__vote *vote = LK__CONTAINER_OF(guest, lk__vote, guest);

    vote_end(vote);
    pthread_mutex_lock(&vote->token->mutex);
    vote->is_gone = true;
    if (vote->answer == LK_REDLOCK_PENDING ||
        vote->answer == LK_REDLOCK_UNREACHABLE)
        answer_set(vote, LK_REDLOCK_ERROR, LK_ECLOSED,
                   lk_status_text(LK_ECLOSED));
    vote_gone(vote, LK_LOSS_CLOSED);
    vote_changed(vote);
}

/* ---- for the token ------------------------------------------------------------------ */

lk_status lk__vote_prepare(lk__vote *vote)
{
    const lk__token *token = vote->token;
    uint64_t owed_ms = token->longest_lease_ms;

    lk__client_lock(vote->client);
    vote->acquire = lk__errand_acquire(vote, on_acquire_ended);
    vote->release = lk__errand_close(vote, on_release_ended);
    lk__client_leave(vote->client);
    if (vote->acquire == NULL || vote->release == NULL)
        return LK_ENOMEM;
    vote->release->ask.owed_ms = owed_ms > OWED_MS ? owed_ms : OWED_MS;
    return LK_OK;
}

void lk__vote_discard(lk__vote *vote)
{
    if (vote->acquire != NULL)
        lk__ask_release(&vote->acquire->ask);
    if (vote->release != NULL)
        lk__ask_release(&vote->release->ask);
    vote->acquire = NULL;
    vote->release = NULL;
}

/* Whether it lets a request wait for longer than its time, or is not there. */
static bool is_slow(const lk__vote *vote)
{
    const lk__conn *conn = &vote->client->node->command;
    uint64_t since;

    if (conn->state != LK__CONN_READY)
        return conn->failures > 0;
    if (conn->first == NULL)
        return false;
    since = conn->first->sent_at > conn->heard_at ? conn->first->sent_at
                                                  : conn->heard_at;
    return lk__client_now(vote->client) > since + vote->token->node_timeout_ns;
}

/* Why nothing is to be asked; or why it may take long. Under the mutex. */
static bool is_refused(lk__vote *vote)
{
    const lk_client *client = vote->client;
    const lk__conn *conn = &client->node->command;

    vote->is_gone = client->state != LK__CLIENT_OPEN;
    vote->is_away = lk__node_is_away(client->node);
    if (conn->state != LK__CONN_READY && conn->failures > 0)
        lk__node_words(client->node, conn->why, conn->words, vote->words,
                       sizeof(vote->words));
    if (client->state != LK__CLIENT_OPEN) {
        answer_set(vote, LK_REDLOCK_ERROR, LK_ECLOSED,
                   lk_status_text(LK_ECLOSED));
        return true;
    }
    return lk__node_is_ready(client->node) && is_ineligible(vote);
}

static void acquire_send(lk__vote *vote)
{
    lk__errand *acquire = vote->acquire;

    vote->is_open = true;
    vote->alarm.fire = on_alarm;
    vote->guest.tell = on_leave;
    lk__guest_add(&vote->client->first_leaver, &vote->guest);
    lk__ask_begin(&acquire->ask);
    lk__ask_release(&acquire->ask);
}

void lk__vote_begin(lk__vote *vote)
{
    bool refused;

    lk__client_lock(vote->client);
    pthread_mutex_lock(&vote->token->mutex);
    refused = is_refused(vote);
    vote->is_slow = is_slow(vote);
    vote->may_stand = !refused;
    if (!refused)
        vote->end = LK__VOTE_STANDS;
    pthread_mutex_unlock(&vote->token->mutex);
    if (refused)
        lk__vote_discard(vote);
    else
        acquire_send(vote);
    lk__client_leave(vote->client);
}

lk_status lk__vote_extend(lk__vote *vote, uint64_t lease_ms)
{
    lk_status status = LK_ENOTHELD;
    bool has_vote;

    lk__client_lock(vote->client);
    pthread_mutex_lock(&vote->token->mutex);
    has_vote = vote->is_open && vote->until != 0;
    pthread_mutex_unlock(&vote->token->mutex);
    if (has_vote)
        status = renew(vote, lease_ms, false);
    lk__client_leave(vote->client);
    return status;
}

void lk__vote_rearm(lk__vote *vote)
{
    lk__client_lock(vote->client);
    pthread_mutex_lock(&vote->token->mutex);
    vote_changed(vote);
    lk__client_leave(vote->client);
}

void lk__vote_close(lk__vote *vote)
{
    lk__client_lock(vote->client);
    vote_end(vote);
    lk__client_leave(vote->client);
}
