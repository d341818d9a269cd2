/* SPDX-License-Identifier: MIT */

/* What is waited for on behalf of others; see under.h. */

#include "claims/under.h"

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/work.h"
#include "engine/client.h"

enum { EVERY_MS = 1000 };

#define MS UINT64_C(1000000)

/* A refusal is of no consequence: operators see less. */
static void
on_written(lk__request *request, lk_status status, const redisReply *reply)
{
    (void)request;
    (void)status;
    (void)reply;
}

void lk__under_key(char key[LK__RECORD_KEY_SIZE], const lk_client *client,
                   const char *owner)
{
    lk__record_key(key, client, owner);
    memcpy(key + strlen(key), ":w", sizeof(":w"));
}

/* Writes the name for one of them; NULL takes back what was written. */
static void send(lk__under *under, unsigned i, const char *name)
{
    char key[LK__RECORD_KEY_SIZE];
    lk__arg args[5] = {lk__arg_text(name != NULL ? "SET" : "DEL")};

    if (under->requests[i].busy)
        return; /* the next one comes in time, or the key ends */
    lk__under_key(key, under->node->client, under->ids[i]);
    args[1] = lk__arg_text(key);
    args[2] = lk__arg_text(name != NULL ? name : "");
    args[3] = lk__arg_text("PX");
    args[4] = lk__arg_number(LK__UNDER_LIFE_MS);
    if (lk__node_command(lk__cluster_node_of(under->node->client, key,
                                             strlen(key)),
                         &under->requests[i], name != NULL ? 5 : 2,
                         args) == LK_OK)
        under->is_told = true;
}

static void send_all(lk__under *under, const char *name)
{
    for (unsigned i = 0; i < under->count; i++)
        send(under, i, name);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__under *under = LK__CONTAINER_OF(alarm, lk__under, alarm);
    lk_client *client = under->node->client;
    const char *name = lk__record_first_wait(client);

    if (client->state != LK__CLIENT_OPEN)
        return;
    if (name == NULL) {
        if (under->is_told)
            send_all(under, NULL);
        under->is_told = false;
        return;
    }
    lk__alarm_set(&client->alarms, alarm,
                  lk__client_now(client) + EVERY_MS * MS);
    send_all(under, name);
}

/* Keeps the last ones. */
static void id_add(lk__under *under, const char *id)
{
    if (under->count == LK__UNDER_MOST)
        memmove(under->ids[0], under->ids[1],
                sizeof(under->ids) - sizeof(under->ids[0]));
    else
        under->count++;
    memcpy(under->ids[under->count - 1], id, LK__CLIENT_ID_SIZE);
}

void lk__under_init(lk__under *under, lk__node *node, const char *text)
{
    const char *at = text != NULL ? text : "";

    under->node = node;
    under->alarm.fire = on_alarm;
    while (*at != '\0') {
        size_t size = strcspn(at, " ");

        if (size == LK__CLIENT_ID_SIZE &&
            strspn(at, "0123456789abcdef") == LK__CLIENT_ID_SIZE)
            id_add(under, at);
        at += size + (at[size] == ' ');
    }
    for (unsigned i = 0; i < under->count; i++)
        under->requests[i].on_reply = on_written;
}

void lk__under_on_wait(lk__under *under)
{
    lk_client *client = under->node->client;

    if (under->count > 0 && !lk__alarm_is_set(&under->alarm))
        lk__alarm_set(&client->alarms, &under->alarm,
                      lk__client_now(client) + EVERY_MS * MS);
}

void lk__under_stop(lk__under *under)
{
    lk__alarm_clear(&under->node->client->alarms, &under->alarm);
}

void lk__under_remove(lk__under *under)
{
    lk__under_stop(under);
    if (under->is_told)
        send_all(under, NULL);
    under->is_told = false;
}
