/* SPDX-License-Identifier: MIT */

/* Waits: standing in line, and every way in which that ends. */

#include "core/wait.h"

#include <stdio.h>

#include "core/cancel.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/hold.h"
#include "core/mem.h"
#include "core/names.h"
#include "core/node.h"
#include "core/owner.h"
#include "core/place.h"

/* ---- lists --------------------------------------------------------------- */

static void lists_add(lk__wait *wait)
{
    lk__place *place = wait->place;
    lk_client *client = wait->client;

    wait->prev = place->last_wait;
    if (wait->prev != NULL)
        wait->prev->next = wait;
    else
        place->first_wait = wait;
    place->last_wait = wait;

    wait->next_all = client->first_wait;
    if (wait->next_all != NULL)
        wait->next_all->prev_all = wait;
    client->first_wait = wait;
    client->stats.waiting++;
    place->refs++;
}

static void lists_remove(lk__wait *wait)
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

    if (wait->prev_all != NULL)
        wait->prev_all->next_all = wait->next_all;
    else
        wait->client->first_wait = wait->next_all;
    if (wait->next_all != NULL)
        wait->next_all->prev_all = wait->prev_all;
    wait->client->stats.waiting--;
}

/* ---- begin and end --------------------------------------------------------- */

static void wait_done(lk__wait *wait, lk_status status, const char *words)
{
    wait->status = status;
    wait->done = true;
    snprintf(wait->words, sizeof(wait->words), "%s",
             words != NULL ? words : lk_status_text(status));
    wait->client->world->class->unpark(wait->client->world, &wait->parking);
}

void lk__wait_end(lk__wait *wait, lk_status status, const char *words)
{
    lk__place *place = wait->place;

    lists_remove(wait);
    wait_done(wait, status, words);
    lk__place_drive(place);
    lk__place_unref(place);
}

/* What this owner holds already it gets once more, without a question. */
static bool reenter(lk__wait *wait)
{
    for (lk__claim *claim = wait->place->first_claim; claim != NULL;
         claim = claim->next) {
        if (claim->owner == wait->owner && lk__claim_is_valid(claim)) {
            lk__hold_bind(wait->hold, claim);
            wait_done(wait, LK_OK, NULL);
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
    for (const lk__claim *claim = place->first_claim; claim != NULL;
         claim = claim->next) {
        if (lk__claim_is_valid(claim))
            return true;
    }
    return false;
}

void lk__wait_begin(lk__wait *wait)
{
    if (lk__cancel_is_fired(wait->cancel))
        wait_done(wait, LK_ECANCELED, NULL);
    else if (reenter(wait))
        return;
    else if (wait->client->node->offline)
        wait_done(wait, wait->client->node->command.why,
                  wait->client->node->command.words);
    else if (wait->try_only && is_busy_here(wait->place))
        wait_done(wait, LK_EBUSY, NULL);
    else {
        lists_add(wait);
        lk__place_drive(wait->place);
    }
}

/* ---- the end of a wait's time ------------------------------------------------ */

/* The last one in line leaves behind what its front has sent. */
static lk_status status_at_end(const lk__wait *wait)
{
    const lk__place *place = wait->place;
    const lk__claim *front = place->front;
    bool is_last = place->first_wait == wait && place->last_wait == wait;

    if (is_last && front != NULL && front->state == LK__CLAIM_WANTED &&
        (front->in_doubt || front->look.busy))
        return LK_EINDOUBT;
    if (wait->try_only)
        return lk__node_is_ready(wait->client->node)
                   ? LK_EBUSY
                   : wait->client->node->command.why;
    return LK_ETIMEDOUT;
}

static void wait_sleep(lk__wait *wait)
{
    lk_client *client = wait->client;

    lk__client_leave(client);
    client->world->class->park(client->world, &wait->parking, wait->until);
    lk__client_lock(client);
    if (!wait->done)
        lk__wait_end(wait, status_at_end(wait), NULL);
}

/* ---- the blocking acquire ------------------------------------------------------ */

static lk_status options_check(const lk__place *place,
                               const lk_acquire_options *given,
                               lk_acquire_options *ret_options)
{
    lk_status status = lk__options_copy(ret_options, sizeof(*ret_options),
                                        given, sizeof(lk_acquire_options));

    if (status != LK_OK)
        return lk__fail(status, "the acquire options have a bad size, or a "
                                "field that this release does not know");
    if (ret_options->owner != NULL &&
        lk__owner_client(ret_options->owner) != place->client)
        return lk__fail(LK_EINVAL, "the owner is another client's");
    if (ret_options->cancel != NULL &&
        lk__cancel_client(ret_options->cancel) != place->client)
        return lk__fail(LK_EINVAL, "the cancel token is another client's");
    return LK_OK;
}

enum { REASON_MAX = 200 };

static void wait_fill(lk__wait *wait, lk__place *place, int64_t wait_ms,
                      uint64_t lease_ms, const lk_acquire_options *options)
{
    lk_client *client = place->client;

    wait->client = client;
    wait->place = place;
    wait->owner = lk__owner_number(client, options->owner);
    wait->watchdog = lease_ms == 0;
    wait->lease_ms = wait->watchdog ? client->settings.watchdog_ms : lease_ms;
    wait->try_only = wait_ms == 0;
    wait->cancel = options->cancel;
    wait->until =
        lk__wait_until_ns(lk__client_now(client),
                          wait->try_only
                              ? (int64_t)client->settings.command_timeout_ms
                              : wait_ms);
    client->world->class->parking_init(client->world, &wait->parking);
}

static lk_status wait_run(lk__wait *wait, lk_hold **ret_hold)
{
    lk_client *client = wait->client;
    lk_status status;

    wait->hold = lk__hold_new(client);
    if (wait->hold == NULL)
        return LK_ENOMEM;
    status = lk__client_enter_blocking(client);
    if (status == LK_OK) {
        lk__wait_begin(wait);
        if (!wait->done)
            wait_sleep(wait);
        lk__client_leave(client);
        status = wait->status;
        if (status != LK_OK)
            lk__error_set(wait->words);
    }
    if (status == LK_OK)
        *ret_hold = wait->hold;
    else
        lk__hold_discard(wait->hold);
    return status;
}

lk_status lk__wait_acquire(lk__place *place, int64_t wait_ms,
                           uint64_t default_lease_ms,
                           const lk_acquire_options *given, lk_hold **ret_hold)
{
    lk_acquire_options options;
    lk__wait wait = {.reason = ""};
    char reason[REASON_MAX + 1];
    uint64_t lease_ms;
    lk_status status = options_check(place, given, &options);

    if (status == LK_OK)
        status = lk__wait_check(wait_ms);
    lease_ms = options.lease_ms != 0 ? options.lease_ms : default_lease_ms;
    if (status == LK_OK && lease_ms != 0)
        status = lk__lease_check(lease_ms);
    if (status != LK_OK)
        return status;

    if (options.reason != NULL) {
        snprintf(reason, sizeof(reason), "%s", options.reason);
        wait.reason = reason;
    }
    wait_fill(&wait, place, wait_ms, lease_ms, &options);
    return wait_run(&wait, ret_hold);
}

/* ---- all waits -------------------------------------------------------------------- */

void lk__waits_end(lk_client *client, lk_status status, const char *words)
{
    while (client->first_wait != NULL)
        lk__wait_end(client->first_wait, status, words);
}

void lk__waits_cancel(lk_client *client)
{
    lk__wait *wait = client->first_wait;

    while (wait != NULL) {
        lk__wait *next = wait->next_all;

        if (lk__cancel_is_fired(wait->cancel))
            lk__wait_end(wait, LK_ECANCELED, NULL);
        wait = next;
    }
}

/* ---- watchers ----------------------------------------------------------------------- */

bool lk__watch(lk_client *client, bool (*condition)(const lk_client *client),
               uint64_t until)
{
    lk__watcher watcher = {.condition = condition};
    lk__watcher **at;

    client->world->class->parking_init(client->world, &watcher.parking);
    lk__client_lock(client);
    watcher.next = client->first_watcher;
    client->first_watcher = &watcher;
    lk__client_leave(client);

    client->world->class->park(client->world, &watcher.parking, until);

    lk__client_lock(client);
    for (at = &client->first_watcher; *at != NULL && *at != &watcher;)
        at = &(*at)->next;
    if (*at != NULL)
        *at = watcher.next;
    lk__client_leave(client);
    return watcher.holds;
}

void lk__watchers_look(lk_client *client)
{
    lk__watcher **at = &client->first_watcher;

    while (*at != NULL) {
        lk__watcher *watcher = *at;

        if (!watcher->condition(client)) {
            at = &watcher->next;
            continue;
        }
        *at = watcher->next;
        watcher->holds = true;
        client->world->class->unpark(client->world, &watcher->parking);
    }
}
