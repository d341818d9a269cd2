/* SPDX-License-Identifier: MIT */

/*
 * Many owners of one client want one name, and wait without a thread each: how
 * often a second the name goes from one to the next, and what that takes. Each
 * has a callback that gives the hold back and asks for the next one. At first
 * nobody else is there; then another client waits as well, whose turn must come.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "server.h"

enum { OWNERS = 10000, QUICK_OWNERS = 1000 };

static const uint64_t ns_measured = 2000000000;

struct owner {
    struct crowd *crowd;
    lk_owner *owner;
};

struct crowd {
    lk_lock *lock;
    struct owner *owners;
    unsigned count;
    atomic_bool ends;
    atomic_ullong holds;   /* so often it was had */
    atomic_uint unsettled; /* owners that still wait */
};

static void die_unless(lk_status status, const char *what)
{
    if (status != LK_OK)
        errx(1, "%s: %s", what, lk_last_error());
}

static void ask(struct owner *owner);

static void on_hold(lk_status status, lk_hold *hold, void *data)
{
    struct owner *owner = data;
    struct crowd *crowd = owner->crowd;

    if (status == LK_OK) {
        atomic_fetch_add(&crowd->holds, 1);
        die_unless(lk_hold_release_async(hold, NULL, NULL), "release");
    } else if (status != LK_ECLOSED) {
        die_unless(status, "acquire");
    }
    if (atomic_load(&crowd->ends))
        atomic_fetch_sub(&crowd->unsettled, 1);
    else
        ask(owner);
}

static void ask(struct owner *owner)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner->owner};

    die_unless(lk_lock_acquire_async(owner->crowd->lock, LK_FOREVER, &options,
                                     on_hold, owner),
               "acquire");
}

static lk_client *client_open(void)
{
    lk_client *client;

    die_unless(lk_client_open(&client, server_url(), NULL), "open");
    return client;
}

static void crowd_begin(struct crowd *crowd, lk_client *client, unsigned count)
{
    die_unless(lk_lock_new(&crowd->lock, client, "crowded", NULL), "lock");
    crowd->owners = memory_new(count, sizeof(*crowd->owners));
    crowd->count = count;
    atomic_store(&crowd->unsettled, count);
    for (unsigned i = 0; i < count; i++) {
        crowd->owners[i].crowd = crowd;
        die_unless(lk_owner_new(&crowd->owners[i].owner, client), "owner");
        ask(&crowd->owners[i]);
    }
}

static void crowd_end(struct crowd *crowd)
{
    atomic_store(&crowd->ends, true);
    while (atomic_load(&crowd->unsettled) > 0)
        sleep_ns(1000000);
    for (unsigned i = 0; i < crowd->count; i++)
        lk_owner_free(crowd->owners[i].owner);
    lk_lock_free(crowd->lock);
    free(crowd->owners);
}

/* ---- the other client ---------------------------------------------------------- */

struct rival {
    pthread_t thread;
    atomic_bool ends;
    atomic_ullong holds;
};

static void *rival_run(void *data)
{
    struct rival *rival = data;
    lk_client *client = client_open();
    lk_lock *lock;

    die_unless(lk_lock_new(&lock, client, "crowded", NULL), "lock");
    while (!atomic_load(&rival->ends)) {
        lk_hold *hold;

        die_unless(lk_lock_acquire(lock, LK_FOREVER, NULL, &hold), "acquire");
        atomic_fetch_add(&rival->holds, 1);
        die_unless(lk_hold_release(hold), "release");
    }
    lk_lock_free(lock);
    lk_client_free(client);
    return NULL;
}

/* ---- a row ---------------------------------------------------------------------- */

static void row(const char *what, unsigned count, bool has_rival)
{
    struct crowd crowd = {.count = 0};
    struct rival rival = {.ends = false};
    redisContext *redis = server_connect();
    lk_client *client = client_open();
    unsigned long long holds;
    uint64_t at, own, server, calls;
    double each, seconds;

    crowd_begin(&crowd, client, count);
    if (has_rival &&
        pthread_create(&rival.thread, NULL, rival_run, &rival) != 0)
        errx(1, "no thread");
    sleep_ns(scaled_ns(ns_measured) / 4);
    holds = atomic_load(&crowd.holds);
    at = now_ns();
    own = own_busy_ns();
    server = server_busy_ns(redis);
    calls = server_scripts(redis).calls;
    sleep_ns(scaled_ns(ns_measured));
    each = (double)(atomic_load(&crowd.holds) - holds);
    seconds = (double)(now_ns() - at) / 1e9;
    own = own_busy_ns() - own;
    server = server_busy_ns(redis) - server;
    calls = server_scripts(redis).calls - calls;
    atomic_store(&rival.ends, true);
    crowd_end(&crowd);
    if (has_rival)
        pthread_join(rival.thread, NULL);
    printf("%-18s %7u  %9.0f  %9.2f  %9.2f  %12.2f  %8llu\n", what, count,
           each / seconds, (double)own / each / 1e3,
           (double)server / each / 1e3, (double)calls / each * 1e3,
           (unsigned long long)atomic_load(&rival.holds));
    lk_client_free(client);
    redisFree(redis);
}

int main(void)
{
    unsigned count = is_quick() ? QUICK_OWNERS : OWNERS;

    server_start();
    printf("%-18s %7s  %9s  %9s  %9s  %12s  %8s\n", "", "owners", "per s",
           "client us", "server us", "scripts/1000", "rival's");
    row("alone", count, false);
    row("beside one client", count, true);
    return 0;
}
