/* SPDX-License-Identifier: MIT */

/*
 * A caller that waits for an answer while nobody else does reads it itself, if
 * the world has lent the stream (see world.h): that saves two changes of thread.
 * The stream is lent after some such calls in a row.
 *
 * The caller reads for all until its call is done, or nothing is under way, and
 * then goes to sleep like any other. What is still under way then is the loop's
 * to read.
 */

#include "engine/client.h"
#include "server/conn.h"

enum { LEND_AFTER = 8 };

/* Nothing that was sent is unanswered: what is under way is the caller's. */
static bool is_alone(const lk__conn *conn)
{
    return conn->first != NULL && conn->first->begin >= conn->sent;
}

static bool can_lend(const lk__conn *conn)
{
    return conn->client->world->class->link_lend != NULL &&
           conn->state == LK__CONN_READY && !conn->blocked;
}

void lk__conn_lend(lk__conn *conn)
{
    if (conn->alone < LEND_AFTER || !can_lend(conn) || conn->first != NULL)
        return;
    conn->alone = 0;
    conn->client->world->class->link_lend(conn->link);
}

/* Outside the monitor, where the connection may become another's. */
static bool has_bytes(const lk_client *client, lk__link *link, uint64_t until)
{
    bool has;
    int was;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
    has = client->world->class->link_await(link, until);
    (void)pthread_setcancelstate(was, &was);
    return has;
}

/*
 * Leaves the monitor meanwhile, but not between what it receives and what it does
 * with it: a thread that is stopped outside keeps no answer from anybody. False:
 * there is nothing more to read, or not for this caller.
 */
static bool read_some(lk__conn *conn, lk__link *link, uint64_t until)
{
    lk_client *client = conn->client;
    const char *bytes;
    ssize_t size = -1;
    bool has;

    lk__client_leave(client);
    has = has_bytes(client, link, until);
    lk__client_lock(client);
    if (has)
        size = client->world->class->link_read(link, &bytes);
    if (size > 0)
        lk__conn_take(conn, link, bytes, (size_t)size);
    return size >= 0 && conn->link == link && conn->first != NULL;
}

void lk__conn_read(lk__conn *conn, lk__parking *parking, const bool *done,
                   uint64_t until)
{
    const lk__world_class *world = conn->client->world->class;
    lk__link *link = conn->link;

    if (!can_lend(conn))
        return;
    if (!is_alone(conn)) {
        conn->alone = 0;
        return;
    }
    if (!world->link_borrow(link, parking)) {
        conn->alone++;
        return;
    }
    while (read_some(conn, link, until) && !*done)
        ;
    world->link_return(link, parking);
    if (conn->link == link && conn->first != NULL)
        world->link_want(link);
}
