/* SPDX-License-Identifier: MIT */

/* Opening a client, its state, its shutdown; see open.h. */

#include "handle/open.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/ask.h"
#include "claims/cluster.h"
#include "claims/group.h"
#include "claims/nap.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/record.h"
#include "claims/watchdog.h"
#include "claims/work.h"
#include "engine/watch.h"

/* ---- open -------------------------------------------------------------------------- */

/* 128 random bits. Without randomness two clients could take the same id, and with
   it the same lock: false. */
static bool id_make(lk_client *client)
{
    unsigned char bytes[LK__CLIENT_ID_SIZE / 2];
    static const char digits[] = "0123456789abcdef";
    char *at = client->id;

    if (!client->world->class->random(client->world, bytes, sizeof(bytes)))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at = '\0';
    return true;
}

static lk_status client_start(lk_client *client)
{
    client->alarms.armed = LK__NEVER;
    client->dispatch_fd = -1;
    client->fork_generation = lk__fork_generation();
    if (!id_make(client))
        return lk__fail(LK_ENOMEM, "the system has no random numbers");
    if (!lk__work_new(client))
        return LK_ENOMEM;
    if (client->settings.dispatch) {
        client->dispatch_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (client->dispatch_fd < 0)
            return lk__fail(LK_ENOMEM, "no descriptor for dispatch");
    }
    if (client->world->class->start(client->world, &lk__conn_events, client) !=
        0)
        return lk__fail(LK_ENOMEM, "the loop thread cannot be started");
    lk__client_lock(client);
    if (client->settings.tls_verify != LK_TLS_FULL)
        lk__client_log(client, LK_LOG_WARN,
                       "tls_verify=%s: the server need not be the one that the "
                       "URL names",
                       client->settings.tls_verify == LK_TLS_CA ? "ca"
                                                                : "none");
    lk__node_start(client->node);
    lk__cluster_start(client->work->cluster);
    lk__client_leave(client);
    return LK_OK;
}

lk_status lk__client_open_in(lk_client **ret_client, lk__world *world,
                             const char *url, const lk_client_options *options)
{
    lk_client *client = lk__alloc(sizeof(*client));
    lk_status status;

    if (client == NULL) {
        world->class->stop(world);
        return LK_ENOMEM;
    }
    status = lk__settings_make(&client->settings, url, options);
    if (status != LK_OK) {
        world->class->stop(world);
        lk__free(client);
        return status;
    }
    pthread_mutex_init(&client->mutex, NULL);
    pthread_cond_init(&client->post_done, NULL);
    client->last_woken = &client->first_woken;
    client->refs = 1;
    client->world = world;
    status = client_start(client);
    if (status != LK_OK) {
        lk__client_unref(client);
        return status;
    }
    *ret_client = client;
    return LK_OK;
}

lk_status lk_client_open(lk_client **ret_client, const char *url,
                         const lk_client_options *options)
{
    lk__world *world;

    if (ret_client == NULL)
        return lk__fail(LK_EINVAL, "ret_client is NULL");
    if (url == NULL)
        return lk__fail(LK_EURL, "no URL was given");
    world = lk__world_uv_new();
    if (world == NULL)
        return lk__fail(LK_ENOMEM, "no memory or descriptors for the loop");
    return lk__client_open_in(ret_client, world, url, options);
}

const char *lk_client_id(const lk_client *client)
{
    return client == NULL ? "" : client->id;
}

lk_status lk_client_stats_get(lk_client *client, lk_client_stats *stats)
{
    lk_client_stats all;
    lk_status status = lk__client_check(client);

    if (status == LK_OK)
        status = lk__result_check(stats);
    if (status != LK_OK)
        return status;

    lk__client_lock(client);
    all = client->stats;
    all.pending = all.renewals_late = 0;
    for (const lk__node *node = client->node; node != NULL; node = node->next) {
        all.pending += lk__node_pending(node);
        all.renewals_late += node->pace.late;
    }
    lk__client_leave(client);
    lk__result_give(stats, &all, sizeof(all));
    return LK_OK;
}

static bool is_ready_or_refused(const lk_client *client)
{
    const lk__conn *conn = &lk__cluster_lead(client)->command;

    return client->state != LK__CLIENT_OPEN || conn->state == LK__CONN_READY ||
           (conn->failures > 0 &&
            (conn->why == LK_EAUTH || conn->why == LK_EDENIED)) ||
           lk__group_trouble(client->node->group) != LK_OK;
}

static lk_status ready_status(lk_client *client)
{
    const lk__conn *conn = &lk__cluster_lead(client)->command;

    if (client->state != LK__CLIENT_OPEN)
        return lk__fail(LK_ECLOSED, "the client was shut down");
    if (conn->state == LK__CONN_READY)
        return LK_OK;
    if (lk__group_trouble(client->node->group) == LK_OK &&
        conn->why == LK_EOFFLINE)
        return lk__fail(LK_ETIMEDOUT, "%s", conn->words);
    return lk__fail(conn->why, "%s", conn->words);
}

lk_status lk_client_wait_ready(lk_client *client, int64_t wait_ms)
{
    lk_status status = lk__wait_check(wait_ms);

    if (status == LK_OK)
        status = lk__client_enter_blocking(client);
    if (status != LK_OK)
        return status;
    lk__watch(client, is_ready_or_refused,
              lk__wait_until_ns(lk__client_now(client), wait_ms));
    status = ready_status(client);
    lk__client_leave_blocking(client);
    return status;
}

lk_status lk_client_wait_ready_async(lk_client *client, int64_t wait_ms,
                                     lk_done_cb cb, void *data)
{
    lk_status status = lk__wait_check(wait_ms);

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status == LK_OK)
        status = lk__client_enter(client);
    if (status != LK_OK)
        return status;
    status = lk__watch_async(client, is_ready_or_refused,
                             lk__wait_until_ns(lk__client_now(client), wait_ms),
                             ready_status, cb, data);
    lk__client_leave(client);
    return status;
}

/* ---- shutdown ------------------------------------------------------------------------ */

/* Everything that is held, waited for or under way begins to end. */
static void shutdown_begin(lk_client *client)
{
    client->state = LK__CLIENT_CLOSING;
    lk__waits_end(client, LK_ECLOSED, NULL);
    for (lk__node *node = client->node; node != NULL; node = node->next)
        lk__needs_end(node, LK_ECLOSED);
    lk__asks_leave_doubtful(client, NULL, LK_ECLOSED, NULL);
    lk__naps_end(client);
    lk__places_shut(client);
    lk__guests_tell(client->first_leaver);
    for (lk__node *node = client->node; node != NULL; node = node->next) {
        lk__record_remove(node);
        lk__under_remove(&node->under);
    }
}

static bool is_signalled(const lk_client *client)
{
    for (const lk__node *node = client->node; node != NULL; node = node->next) {
        if (lk__signals_are_busy(&node->signals))
            return true;
    }
    return false;
}

/* Every release was answered, and every change of a counter; and no signal is
   on its way here that others would wait for in vain. */
static bool is_closed(const lk_client *client)
{
    return client->work->first_ask == NULL && lk__places_are_closed(client) &&
           !is_signalled(client);
}

/* And what the library itself does on the loop, which may call back: the end
   of a shutdown comes last. */
static bool is_quiet(const lk_client *client)
{
    return is_closed(client) && client->inner.first == NULL &&
           client->inner.running == NULL;
}

/* What is still to be said is left to the leases. */
static void shutdown_end(lk_client *client)
{
    client->shutdown_status = is_closed(client) ? LK_OK : LK_ETIMEDOUT;
    lk__asks_end(client, LK_ECLOSED, NULL);
    client->state = LK__CLIENT_CLOSED;
    lk__naps_end(client);
    for (lk__node *node = client->node; node != NULL; node = node->next) {
        lk__conn_flush(&node->command);
        lk__node_stop(node);
        lk__watchdog_stop(node);
    }
    lk__cluster_stop(client->work->cluster);
    lk__places_abandon(client);
}

/* Whoever comes second finds it done. */
static lk_status shutdown_finish(lk_client *client)
{
    if (client->state == LK__CLIENT_CLOSING)
        shutdown_end(client);
    return client->shutdown_status;
}

lk_status lk_client_shutdown(lk_client *client, int64_t wait_ms)
{
    lk_status status = lk__wait_check(wait_ms);

    if (status == LK_OK)
        status = lk__client_check(client);
    if (status != LK_OK)
        return status;

    lk__client_lock(client);
    if (wait_ms != 0 && lk__client_is_callback(client)) {
        lk__client_leave(client);
        return lk__fail(LK_ECALLBACK, "a callback may not block its own loop");
    }
    lk__client_ref(client); /* another thread may free it meanwhile */
    if (client->state == LK__CLIENT_OPEN)
        shutdown_begin(client);
    if (wait_ms != 0)
        lk__watch(client, is_quiet,
                  lk__wait_until_ns(lk__client_now(client), wait_ms));
    status = shutdown_finish(client);
    lk__client_leave_blocking(client);
    return status == LK_OK
               ? LK_OK
               : lk__fail(status, "not all releases were confirmed in time; "
                                  "their leases end by themselves");
}

lk_status lk_client_shutdown_async(lk_client *client, int64_t wait_ms,
                                   lk_done_cb cb, void *data)
{
    lk_status status = lk__wait_check(wait_ms);

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status == LK_OK)
        status = lk__client_enter(client);
    if (status != LK_OK)
        return status;
    status = lk__watch_async(client, is_quiet,
                             lk__wait_until_ns(lk__client_now(client), wait_ms),
                             shutdown_finish, cb, data);
    if (status == LK_OK)
        shutdown_begin(client);
    lk__client_leave(client);
    return status;
}

/* A server closes a connection that it finds closed, with what it has not read
   yet: so even the last word has to be waited for. */
enum { FREE_WAIT_MS = 100 };

void lk_client_free(lk_client *client)
{
    bool is_callback;

    if (client == NULL || lk__client_check(client) != LK_OK)
        return;
    lk__client_lock(client);
    is_callback = lk__client_is_callback(client);
    lk__client_leave(client);
    lk_client_shutdown(client, is_callback ? 0 : FREE_WAIT_MS);
    if (client->dispatch_fd >= 0)
        lk__client_finish_posts(client);
    lk__client_unref(client);
}
