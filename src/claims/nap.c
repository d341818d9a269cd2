/* SPDX-License-Identifier: MIT */

/* Moments of waiting; see nap.h. */

#include "claims/nap.h"

#include "claims/work.h"
#include "engine/client.h"

bool lk__nap_lasts(const lk__nap *nap)
{
    return lk__alarm_is_set(&nap->alarm);
}

static void unlink_nap(lk__nap *nap)
{
    if (nap->prev != NULL)
        nap->prev->next = nap->next;
    else
        nap->client->work->first_nap = nap->next;
    if (nap->next != NULL)
        nap->next->prev = nap->prev;
    nap->next = nap->prev = NULL;
}

void lk__nap_stop(lk__nap *nap)
{
    if (!lk__nap_lasts(nap))
        return;
    lk__alarm_clear(&nap->client->alarms, &nap->alarm);
    unlink_nap(nap);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__nap *nap = (lk__nap *)(void *)alarm;

    unlink_nap(nap);
    nap->over(nap);
}

void lk__nap_take(lk__nap *nap, uint64_t ns)
{
    lk_client *client = nap->client;

    if (lk__nap_lasts(nap))
        return;
    nap->alarm.fire = on_alarm;
    lk__alarm_set(&client->alarms, &nap->alarm, lk__client_now(client) + ns);
    nap->prev = NULL;
    nap->next = client->work->first_nap;
    if (nap->next != NULL)
        nap->next->prev = nap;
    client->work->first_nap = nap;
}

void lk__naps_end(lk_client *client)
{
    lk__nap *nap;

    while ((nap = client->work->first_nap) != NULL) {
        lk__nap_stop(nap);
        nap->over(nap);
    }
}
