/* SPDX-License-Identifier: MIT */

/* Pace: late renewals, and the acquires that stay behind them. */

#include "claims/pace.h"

#include <inttypes.h>

#include "claims/claim_private.h"
#include "claims/node.h"
#include "claims/work.h"
#include "server/naming.h"

enum {
    WINDOW_SHARE = 12, /* of the watchdog's lease, or of a belief */
    WINDOW_LEAST = 32,
    LATE_SHARE = 8, /* of the time to the deadline */
    TELL_MS = 10000 /* the log hears of it no more often */
};

/* ---- the log --------------------------------------------------------------- */

static void tell_late(lk__node *node)
{
    lk_client *client = node->client;
    lk__pace *pace = &node->pace;
    uint64_t now = lk__client_now(client);

    if (pace->told ||
        (pace->told_at != 0 && now < pace->told_at + TELL_MS * LK__MS))
        return;
    pace->told = true;
    pace->told_at = now;
    lk__client_log(client, LK_LOG_WARN,
                   "the server does not keep up: renewals are late, "
                   "new acquires are held back");
}

static void tell_in_time(lk__node *node)
{
    lk_client *client = node->client;
    lk__pace *pace = &node->pace;

    if (!pace->told)
        return;
    pace->told = false;
    lk__client_log(client, LK_LOG_INFO,
                   "renewals are in time again after %" PRIu64
                   " ms, acquires go on",
                   (lk__client_now(client) - pace->told_at) / LK__MS);
}

/* ---- late renewals ------------------------------------------------------------ */

void lk__pace_due(lk__claim *claim)
{
    uint64_t now = lk__client_now(claim->place->client);

    if (claim->late_at != 0 || (!claim->watchdog && claim->confirmed))
        return;
    claim->late_at =
        now + (claim->leased_until > now ? claim->leased_until - now : 0) /
                  LATE_SHARE;
}

void lk__pace_look(lk__claim *claim, uint64_t now)
{
    lk__node *node = claim->place->node;

    if (claim->late_at == 0 || now < claim->late_at || claim->late)
        return;
    claim->late = true;
    node->pace.late++;
    tell_late(node);
}

void lk__pace_done(lk__claim *claim)
{
    lk__node *node = claim->place->node;

    claim->late_at = 0;
    if (!claim->late)
        return;
    claim->late = false;
    if (--node->pace.late == 0)
        tell_in_time(node);
}

/* ---- acquires -------------------------------------------------------------------- */

/* In a cluster the question by whose answer all holds are believed may have to stand
   behind them. */
static uint64_t window_ns(const lk__node *node)
{
    uint64_t ms = node->client->settings.watchdog_ms;

    if (node->view != NULL && node->belief.until != LK__NEVER &&
        ms > LK__BELIEF_MS)
        ms = LK__BELIEF_MS;
    return ms * LK__MS / WINDOW_SHARE;
}

/* As many as the server has lately answered in this time. */
static uint64_t window(const lk__node *node)
{
    uint64_t ns = window_ns(node);
    uint64_t each_ns = node->command.each_ns;
    uint64_t count = each_ns == 0 ? UINT64_MAX : ns / each_ns;

    return count < WINDOW_LEAST ? WINDOW_LEAST : count;
}

static bool is_open(const lk__node *node)
{
    return node->pace.late == 0 && (node->client->stats.holding == 0 ||
                                    node->command.pending < window(node));
}

static void list_remove(lk__pace *pace, lk__claim *claim)
{
    lk__seeking *seek = claim->seek;

    if (seek->prev_back != NULL)
        seek->prev_back->seek->next_back = seek->next_back;
    else
        pace->first = seek->next_back;
    if (seek->next_back != NULL)
        seek->next_back->seek->prev_back = seek->prev_back;
    else
        pace->last = seek->prev_back;
    seek->next_back = seek->prev_back = NULL;
    claim->held_back = false;
}

static void list_add(lk__pace *pace, lk__claim *claim)
{
    claim->held_back = true;
    claim->seek->prev_back = pace->last;
    if (pace->last != NULL)
        pace->last->seek->next_back = claim;
    else
        pace->first = claim;
    pace->last = claim;
}

/* What may have been asked for already is settled first of all. */
bool lk__pace_holds_back(lk__claim *claim)
{
    lk_client *client = claim->place->client;
    lk__node *node = claim->place->node;
    lk__pace *pace = &node->pace;

    if (claim->held_back)
        return true;
    if (claim == pace->let || claim->in_doubt ||
        (pace->first == NULL && is_open(node)))
        return false;
    list_add(pace, claim);
    client->stats.held_back++;
    client->stats.holding_back++;
    return true;
}

void lk__pace_drop(lk__claim *claim)
{
    lk_client *client = claim->place->client;

    if (!claim->held_back)
        return;
    list_remove(&claim->place->node->pace, claim);
    client->stats.holding_back--;
}

void lk__pace_go(lk__node *node)
{
    lk__pace *pace = &node->pace;

    while (pace->first != NULL && lk__node_is_ready(node) && is_open(node)) {
        lk__claim *claim = pace->first;

        lk__pace_drop(claim);
        pace->let = claim;
        if (claim->state == LK__CLAIM_WANTED)
            lk__claim_seek(claim);
        pace->let = NULL;
    }
}
