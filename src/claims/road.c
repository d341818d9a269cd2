/* SPDX-License-Identifier: MIT */

/* The road of the renewals: which connection one goes over. */

#include "claims/road.h"

#include <stdio.h>

#include "claims/node.h"
#include "engine/client.h"

#define MS UINT64_C(1000000)

/* So long the first connection is waited for, and not longer than this part of
   a lease: then the first renewals go among the commands. */
enum { OPENING_MS = 250, OPENING_SHARE = 16 };

enum { CROWD = 64 }; /* commands, too many to stand behind in haste */

/* Leaving the monitor sends what has waited. */
static void on_opening_over(lk__alarm *alarm)
{
    (void)alarm;
}

static lk__road *road_of(lk__lane *lane)
{
    return (lk__road *)(void *)lane;
}

static void opening_end(lk__road *road)
{
    lk__alarm_clear(&road->lane.conn.client->alarms, &road->opening);
}

static void on_ready(lk__lane *lane)
{
    const lk__node *node = lk__node_of(&lane->conn);

    opening_end(road_of(lane));
    if (lk__node_is_ready(node))
        lk__lane_together(lane, node->command_greeting.run_id);
}

static void on_down(lk__lane *lane)
{
    opening_end(road_of(lane));
}

void lk__road_init(lk__road *road, lk__node *node)
{
    road->opening.fire = on_opening_over;
    lk__lane_init(&road->lane, "renewal", node->client, node, on_ready,
                  on_down);
}

void lk__road_stop(lk__road *road)
{
    opening_end(road);
    lk__conn_stop(&road->lane.conn);
}

void lk__road_home(lk__road *road, const char *run_id)
{
    snprintf(road->home, sizeof(road->home), "%s", run_id);
    lk__lane_together(&road->lane, run_id);
}

void lk__road_want(lk__road *road)
{
    lk_client *client = road->lane.conn.client;
    uint64_t ms = client->settings.watchdog_ms / OPENING_SHARE;

    if (road->lane.conn.state != LK__CONN_STOPPED ||
        client->state == LK__CLIENT_CLOSED)
        return;
    lk__alarm_set(&client->alarms, &road->opening,
                  lk__client_now(client) +
                      (ms < OPENING_MS ? ms : OPENING_MS) * MS);
    lk__conn_start(&road->lane.conn);
}

/* The commands may be away meanwhile: the lane serves on at their server. */
static bool is_at_home(const lk__road *road)
{
    return lk__lane_is_ready(&road->lane) &&
           lk__run_ids_same(road->lane.greeting.run_id, road->home);
}

static void note_shares(lk__road *road, bool shares)
{
    const lk__conn *conn = &road->lane.conn;

    if (road->shares == shares)
        return;
    road->shares = shares;
    if (shares)
        lk__client_log(conn->client, LK_LOG_WARN,
                       "renewals go among the commands: %s", conn->words);
    else
        lk__client_log(conn->client, LK_LOG_INFO,
                       "renewals have their own connection again");
}

lk__conn *lk__road_take(lk__road *road, bool may_wait)
{
    lk__node *node = lk__node_of(&road->lane.conn);

    if (is_at_home(road)) {
        note_shares(road, false);
        return &road->lane.conn;
    }
    if (!lk__node_is_ready(node))
        return NULL;
    if (lk__alarm_is_set(&road->opening))
        return may_wait ? NULL : &node->command;
    if (road->lane.conn.state != LK__CONN_STOPPED)
        note_shares(road, true);
    return &node->command;
}

bool lk__road_is_crowded(const lk__road *road)
{
    return lk__node_of(&road->lane.conn)->command.pending >= CROWD;
}

lk__conn *lk__road_pass(lk__road *road)
{
    lk__node *node = lk__node_of(&road->lane.conn);

    if (!lk__node_is_ready(node))
        return NULL;
    if (is_at_home(road))
        return &road->lane.conn;
    if (!lk__road_is_crowded(road))
        return &node->command;
    lk__road_want(road);
    return lk__alarm_is_set(&road->opening) ? NULL : &node->command;
}
