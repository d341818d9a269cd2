/* SPDX-License-Identifier: MIT */

/* Calls of many commands; see probe.h. */

#include "inspect/probe.h"

#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/node.h"
#include "claims/work.h"

static void probe_free(lk__probe *probe)
{
    if (probe->cleanup != NULL)
        probe->cleanup(probe);
    lk__free(probe);
}

void lk__probe_end(lk__probe *probe, lk_status status, const char *words)
{
    if (probe->call.done)
        return;
    lk__alarm_clear(&probe->call.client->alarms, &probe->alarm);
    lk__call_done(&probe->call, status, words);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__probe_end((lk__probe *)(void *)((char *)alarm -
                                        offsetof(lk__probe, alarm)),
                  LK_ETIMEDOUT, NULL);
}

/* ---- requests -------------------------------------------------------------- */

static void broken(lk__probe *probe)
{
    if (probe->call.client->state != LK__CLIENT_OPEN)
        lk__probe_end(probe, LK_ECLOSED, NULL);
    else
        lk__probe_end(probe, LK_EOFFLINE,
                      "the connection broke before the answer came");
}

static void
on_reply(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__probing *probing = (lk__probing *)(void *)request;
    lk__probe *probe = probing->probe;

    probe->busy--;
    if (status != LK_OK)
        broken(probe);
    else if (!probe->call.done)
        probing->take(probing, reply);
    if (probe->busy > 0)
        return;
    lk__probe_end(probe, LK_OK, NULL);
    if (probe->released)
        probe_free(probe);
}

void lk__probe_send(lk__probe *probe, lk__probing *probing, size_t count,
                    const lk__arg *args)
{
    lk_status status;

    if (probe->call.done)
        return;
    probing->probe = probe;
    probing->request.on_reply = on_reply;
    status = lk__node_command(probe->call.client->node, &probing->request,
                              count, args);
    if (status == LK_OK)
        probe->busy++;
    else if (status == LK_EOFFLINE)
        broken(probe);
    else
        lk__probe_end(probe, status, NULL);
}

void lk__probe_flush(lk__probe *probe)
{
    lk__conn_flush(&probe->call.client->node->command);
}

/* A master of a cluster knows the names of its own slots alone. */
static lk_status check(const lk_client *client)
{
    lk_status status = lk__client_check(client);

    return status == LK_OK && client->work->cluster != NULL
               ? lk__fail(LK_ENOTSUP,
                          "a cluster is not looked through; ask for the "
                          "names themselves, or each master by its own URL")
               : status;
}

/* ---- the call --------------------------------------------------------------- */

/* Inside the monitor; the server was there a moment ago. */
static void begin(lk__probe *probe)
{
    lk_client *client = probe->call.client;

    probe->alarm.fire = on_alarm;
    if (probe->until != LK__NEVER)
        lk__alarm_set(&client->alarms, &probe->alarm, probe->until);
    probe->begin(probe);
    if (probe->busy == 0)
        lk__probe_end(probe, LK_OK, NULL);
}

lk_status lk__probe_run(lk__probe *probe, lk_client *client, int64_t wait_ms)
{
    lk_status status = check(client);

    if (status == LK_OK) {
        probe->until = lk__wait_until_ns(lk__client_now(client), wait_ms);
        status = lk_client_wait_ready(client, wait_ms);
    }
    if (status == LK_OK)
        status = lk__client_enter_blocking(client);
    if (status != LK_OK)
        return status;
    lk__call_init(&probe->call, client, NULL);
    begin(probe);
    while (!lk__call_sleep(&probe->call, LK__NEVER))
        continue; /* the alarm ends it in time */
    status = lk__call_status(&probe->call);
    lk__client_leave_blocking(client);
    return status;
}

void lk__probe_release(lk__probe *probe)
{
    lk_client *client = probe->call.client;

    if (client == NULL) { /* it never began */
        probe_free(probe);
        return;
    }
    lk__client_lock(client);
    probe->released = true;
    if (probe->busy == 0)
        probe_free(probe);
    lk__client_leave(client);
}

/* ---- async ------------------------------------------------------------------ */

static void deliver(lk__call *call)
{
    lk__probe *probe = (lk__probe *)(void *)call;

    probe->deliver(probe);
    lk__probe_release(probe);
}

/* In a callback of the client's, outside the monitor. */
static void on_ready(lk_status status, void *data)
{
    lk__probe *probe = (lk__probe *)data;
    lk_client *client = probe->call.client;

    lk__client_lock(client);
    if (status == LK_OK)
        begin(probe);
    else
        lk__probe_end(probe, status, lk_last_error());
    lk__client_leave(client);
    lk__client_unref(client);
}

lk_status
lk__probe_run_async(lk__probe *probe, lk_client *client, int64_t wait_ms)
{
    lk_status status = check(client);

    if (status == LK_OK)
        status = lk__client_enter(client);
    if (status == LK_OK) {
        lk__call_init(&probe->call, client, deliver);
        probe->until = lk__wait_until_ns(lk__client_now(client), wait_ms);
        lk__client_leave(client);
        lk__client_ref(client); /* until it has begun */
        status = lk_client_wait_ready_async(client, wait_ms, on_ready, probe);
        if (status != LK_OK)
            lk__client_unref(client);
    }
    if (status != LK_OK)
        probe_free(probe);
    return status;
}
