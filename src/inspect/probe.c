/* SPDX-License-Identifier: MIT */

/* Calls of many commands; see probe.h. */

#include "inspect/probe.h"

#include "base/container.h"
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
    lk__probe_forget_missed(probe);
    lk__free(probe);
}

void lk__probe_end(lk__probe *probe, lk_status status, const char *words)
{
    if (probe->call.done)
        return;
    lk__alarm_clear(&probe->call.client->alarms, &probe->alarm);
    lk__probe_forget_waiting(probe);
    lk__call_done(&probe->call, status, words);
}

void lk__probe_settle(lk__probe *probe)
{
    if (probe->busy > 0)
        return;
    lk__probe_end(probe, LK_OK, NULL);
    if (probe->released)
        probe_free(probe);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__probe *probe = LK__CONTAINER_OF(alarm, lk__probe, alarm);

    lk__probe_end(probe, LK_ETIMEDOUT, NULL);
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
    lk_status status = lk__client_check(client);

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
    lk_status status = lk__client_check(client);

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
