/* SPDX-License-Identifier: MIT */

/* Lanes: a connection and its greeting, and whom that concerns. */

#include "server/lane.h"

static lk__lane *lane_of(lk__conn *conn)
{
    return (lk__lane *)(void *)conn;
}

static void lane_open(lk__conn *conn)
{
    lk__greet(&lane_of(conn)->greeting);
}

static void lane_greeted(lk__conn *conn)
{
    lk__lane *lane = lane_of(conn);

    lk__conn_ready(conn);
    lane->on_ready(lane);
}

static void lane_down(lk__conn *conn, lk_status why)
{
    lk__lane *lane = lane_of(conn);

    (void)why;
    lane->on_down(lane);
}

void lk__lane_init(lk__lane *lane, const char *word, struct lk_client *client,
                   void *owner, void (*on_ready)(lk__lane *lane),
                   void (*on_down)(lk__lane *lane))
{
    lane->class.word = word;
    lane->class.on_open = lane_open;
    lane->class.on_down = lane_down;
    lane->on_ready = on_ready;
    lane->on_down = on_down;
    lk__conn_init(&lane->conn, &lane->class, client, owner);
    lane->greeting.conn = &lane->conn;
    lane->greeting.done = lane_greeted;
}

bool lk__lane_is_ready(const lk__lane *lane)
{
    return lane->conn.state == LK__CONN_READY;
}

void lk__lane_together(lk__lane *lane, const char *run_id)
{
    if (lk__lane_is_ready(lane) &&
        !lk__run_ids_same(lane->greeting.run_id, run_id))
        lk__conn_break(&lane->conn, LK_EOFFLINE, "at another server process");
}

void lk__lane_patience(lk__lane *lane, uint64_t ns)
{
    lane->conn.patience = ns;
}

void lk__lane_serves(lk__lane *lane)
{
    lk__conn_serves(&lane->conn);
}
