/* SPDX-License-Identifier: MIT */

/* What a process and its connection say of how far a server is believed. */

#include "base/deadline.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/naming.h"

/* ---- reigns ------------------------------------------------------------------ */

static void alarm_set(lk__node *node)
{
    lk__alarm_set(&node->client->alarms, &node->trust.alarm, node->trust.until);
}

/* Each hold notes how far it went, before nobody can read that here any more. */
static void reign_end(lk__node *node)
{
    if (node->trust.reign == 0)
        return;
    lk__alarm_clear(&node->client->alarms, &node->trust.alarm);
    lk__places_believe_no_more(node);
    node->trust.reign = 0;
}

static void reign_begin(lk__node *node, uint64_t until)
{
    node->trust.until = until;
    node->trust.reign = ++node->client->work->last_reign;
    alarm_set(node);
    lk__places_believe(node);
}

/* It may have been prolonged meanwhile, which moves no alarm. */
static void on_alarm(lk__alarm *alarm)
{
    lk__trust *trust =
        (lk__trust *)(void *)((char *)alarm - offsetof(lk__trust, alarm));
    lk__node *node =
        (lk__node *)(void *)((char *)trust - offsetof(lk__node, trust));

    if (lk__client_now(node->client) >= trust->until)
        reign_end(node);
    else
        alarm_set(node);
}

static void reign_prolong(lk__node *node, uint64_t until)
{
    uint64_t now = lk__client_now(node->client);

    if (now >= node->trust.until)
        reign_end(node); /* what has lapsed does not come back */
    if (until <= now || until == LK__NEVER)
        return;
    if (node->trust.reign == 0)
        reign_begin(node, until);
    else if (until > node->trust.until)
        node->trust.until = until;
}

/* ---- belief ------------------------------------------------------------------ */

void lk__belief_init(lk__node *node)
{
    node->belief.until = LK__NEVER;
    node->belief.turn = 1; /* 0 is what no server said */
    node->trust.alarm.fire = on_alarm;
}

void lk__belief_turn(lk__node *node)
{
    node->belief.turn++;
    reign_end(node);
}

/* Without a connection the process that gave may be another by now, unless nobody
   is there. */
void lk__belief_stays(lk__node *node)
{
    uint64_t absent_at = node->command.absent_at;
    uint64_t stays =
        absent_at != 0 ? lk__deadline_ns(absent_at, LK__BELIEF_MS) : 0;

    if (lk__node_is_ready(node) || stays > node->belief.until)
        stays = node->belief.until;
    reign_prolong(node, stays);
}

/* One that does not say when it began has done so when it was met. With
   failover=fast that is of no account: see lk__node_gives(). */
void lk__belief_born(lk__node *node)
{
    int64_t born_at = node->command_greeting.born_at;
    uint64_t from = node->command.ready_at;

    if (!lk__node_is_ready(node) || born_at < 0)
        return;
    if ((uint64_t)born_at < from)
        from = (uint64_t)born_at;
    from = lk__wait_until_ns(from, LK__BELIEF_MS);
    if (from > node->belief.from)
        node->belief.from = from;
}
