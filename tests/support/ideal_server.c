/* SPDX-License-Identifier: MIT */

/* The ideal service itself: holds and queues; see ideal_inside.h. */

#include <string.h>

#include "support/ideal_inside.h"

/* ---- the server: who holds ---- */

bool ideal_fits(const ideal_name *n, const ideal_seat *wish)
{
    uint64_t sum = n->taken + wish->count;

    for (size_t i = 0; i < n->held; i++) {
        const ideal_seat *s = &n->seats[i];
        bool both = (wish->mode == HISTORY_READ && s->mode != HISTORY_WRITER) ||
                    (s->mode == HISTORY_READ && wish->mode != HISTORY_WRITER);

        if (wish->mode != HISTORY_PERMITS && !both)
            return false;
        sum += s->count;
    }
    return wish->mode != HISTORY_PERMITS || sum <= n->permits;
}

void ideal_unseat(ideal_name *n, size_t i)
{
    if (i < n->held)
        n->held--;
    else
        n->queued--;
    memmove(&n->seats[i], &n->seats[i + 1],
            (IDEAL_SEATS - i - 1) * sizeof(ideal_seat));
}

/* Permits that nobody holds: the wait is over, though its caller has not heard
   of it. */
static void grant_plain(ideal *w, ideal_name *n, const ideal_seat *wish)
{
    if (!wish->actor->waits || wish->actor->call.operation != wish->operation)
        return;
    n->taken += wish->count;
    wish->actor->waits = false;
    ideal_plan(w, w->now + ideal_travel(w), ideal_plain_arrives, wish->actor,
               false, 0);
}

static void expires(ideal *w, ideal_actor *a, uint64_t operation);

void ideal_grant(ideal *w, ideal_name *n, ideal_seat wish)
{
    if (n->kind == HISTORY_PLAIN) {
        grant_plain(w, n, &wish);
        return;
    }
    memmove(&n->seats[n->held + 1], &n->seats[n->held],
            n->queued * sizeof(ideal_seat));
    wish.expires = w->now + wish.lease_ms * IDEAL_MS;
    n->seats[n->held++] = wish;
    n->fence++;
    ideal_send(w, ideal_arrives, wish.actor, n->fence << 32 | wish.operation);
    ideal_plan(w, wish.expires, expires, wish.actor, true, wish.operation);
}

void ideal_serve(ideal *w, ideal_name *n)
{
    while (n->queued > 0) {
        ideal_seat wish = n->seats[n->held];

        if (!wish.actor->dead && !ideal_fits(n, &wish))
            return;
        ideal_unseat(n, n->held);
        if (!wish.actor->dead)
            ideal_grant(w, n, wish);
    }
}

static size_t find(const ideal_name *n, uint64_t operation)
{
    for (size_t i = 0; i < n->held + n->queued; i++)
        if (n->seats[i].operation == operation)
            return i;
    return IDEAL_SEATS;
}

ideal_name *ideal_name_of(ideal *w, uint64_t operation, size_t *ret_seat)
{
    for (int i = 0; i < IDEAL_NAMES; i++) {
        *ret_seat = find(&w->names[i], operation);
        if (*ret_seat != IDEAL_SEATS)
            return &w->names[i];
    }
    return NULL;
}

void ideal_frees(ideal *w, ideal_actor *a, uint64_t operation)
{
    size_t i;
    ideal_name *n = ideal_name_of(w, operation, &i);

    (void)a;
    if (n == NULL)
        return;
    ideal_unseat(n, i);
    ideal_serve(w, n);
}

static void expires(ideal *w, ideal_actor *a, uint64_t operation)
{
    size_t i;
    ideal_name *n = ideal_name_of(w, operation, &i);

    if (n == NULL || i >= n->held)
        return;
    if (n->seats[i].expires > w->now)
        ideal_plan(w, n->seats[i].expires, expires, a, true, operation);
    else
        ideal_frees(w, a, operation);
}
