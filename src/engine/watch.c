/* SPDX-License-Identifier: MIT */

/* Watches; see watch.h. */

#include "engine/watch.h"

#include "base/container.h"
#include "base/mem.h"

typedef struct lk__watch {
    struct lk__watch *next;
    lk__call call;
    lk__condition condition;
    lk__alarm alarm;
    lk_status (*finish)(lk_client *client);
    lk_done_cb cb;
    void *data;
} watch;

static void list_add(watch *added)
{
    added->next = added->call.client->first_watch;
    added->call.client->first_watch = added;
}

static void list_remove(watch *removed)
{
    struct lk__watch **at = &removed->call.client->first_watch;

    while (*at != removed)
        at = &(*at)->next;
    *at = removed->next;
}

/* By the time the caller is awake it may have come and gone again. */
bool lk__watch(lk_client *client, lk__condition condition, uint64_t until)
{
    while (!condition(client)) {
        watch self = {.condition = condition};

        lk__call_init(&self.call, client, NULL);
        list_add(&self);
        if (!lk__call_sleep(&self.call, until)) {
            list_remove(&self);
            return condition(client);
        }
    }
    return true;
}

/* ---- async ----------------------------------------------------------------- */

static void deliver(lk__call *call)
{
    watch *self = LK__CONTAINER_OF(call, watch, call);

    self->cb(call->status, self->data);
    lk__free(self);
}

static void finish(watch *self)
{
    list_remove(self);
    lk__alarm_clear(&self->call.client->alarms, &self->alarm);
    lk__call_done(&self->call, self->finish(self->call.client), NULL);
}

static void on_alarm(lk__alarm *alarm)
{
    finish(LK__CONTAINER_OF(alarm, watch, alarm));
}

lk_status lk__watch_async(lk_client *client, lk__condition condition,
                          uint64_t until,
                          lk_status (*finish_call)(lk_client *client),
                          lk_done_cb cb, void *data)
{
    watch *self = lk__alloc(sizeof(*self));

    if (self == NULL)
        return LK_ENOMEM;
    self->condition = condition;
    self->finish = finish_call;
    self->cb = cb;
    self->data = data;
    self->alarm.fire = on_alarm;
    lk__call_init(&self->call, client, deliver);
    list_add(self);
    if (until != LK__NEVER)
        lk__alarm_set(&client->alarms, &self->alarm, until);
    return LK_OK; /* looked at when the caller leaves the monitor */
}

/* Finishing may change what the others wait for, so each look starts again. */
void lk__watches_look(lk_client *client)
{
    watch *self = client->first_watch;

    while (self != NULL) {
        if (!self->condition(client)) {
            self = self->next;
            continue;
        }
        if (self->finish != NULL) {
            finish(self);
        } else {
            list_remove(self);
            lk__call_done(&self->call, LK_OK, NULL);
        }
        self = client->first_watch;
    }
}
