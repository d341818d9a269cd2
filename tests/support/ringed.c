/* SPDX-License-Identifier: MIT */

#include "support/ringed.h"

#include <stdio.h>
#include <string.h>

#include "base/slot.h"
#include "support/check.h"
#include "support/wait.h"

static cluster *ring;

int ringed_start(void **state)
{
    (void)state;
    ring = cluster_start(RINGED_MASTERS, 1);
    return ring != NULL ? 0 : -1;
}

int ringed_stop(void **state)
{
    (void)state;
    cluster_stop(ring);
    ring = NULL;
    return 0;
}

cluster *ringed(void)
{
    return ring;
}

lk_client *ringed_open(const lk_client_options *options)
{
    char url[256];

    cluster_url(ring, url, sizeof(url));
    return made_client(url, options);
}

unsigned ringed_slot(const char *name)
{
    return lk__slot_of(name, strlen(name));
}

const char *
ringed_name(char name[RINGED_NAME], const char *begin, const server *at)
{
    enum { TRIES = 10000 };

    for (unsigned i = 0; i < TRIES; i++) {
        (void)snprintf(name, RINGED_NAME, "%s%u", begin, i);
        if (ringed_master(name) == at)
            return name;
    }
    fail_msg("that node has no slot any more");
    return name;
}

server *ringed_master(const char *name)
{
    return cluster_master_of(ring, ringed_slot(name));
}

server *ringed_other(const char *name)
{
    for (unsigned slot = 0;; slot += LK__SLOTS / RINGED_MASTERS / 2) {
        server *at = cluster_master_of(ring, slot);

        if (at != ringed_master(name))
            return at;
    }
}

void ringed_take(call *c, lk_lock *lock)
{
    assert_status(lk_lock_acquire_async(lock, LK_FOREVER, NULL, call_on_acquire,
                                        c),
                  LK_OK);
}

typedef struct line {
    server *at;
    const char *name;
    long long most;
} line;

static bool has_line(void *data)
{
    const line *l = data;

    return server_integer(l->at, "ZCOUNT latchkey:{%s}:q 0 (2533274790395904",
                          l->name) >= l->most;
}

void ringed_wait_line(server *at, const char *name, long long most)
{
    line l = {at, name, most};

    assert_true(wait_until(has_line, &l, RINGED_LONG_MS));
}

typedef struct renewals {
    lk_client *client;
    uint64_t least;
} renewals;

static uint64_t renewals_of(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats.renewals;
}

static bool are_renewed(void *data)
{
    const renewals *r = data;

    return renewals_of(r->client) >= r->least;
}

void ringed_wait_renewals(lk_client *client, uint64_t more)
{
    renewals r = {client, renewals_of(client) + more};

    assert_true(wait_until(are_renewed, &r, RINGED_LONG_MS));
}
