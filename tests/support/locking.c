/* SPDX-License-Identifier: MIT */
#include "support/locking.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

/* COMMAND_MS: on a machine without time an answer takes seconds. */
enum { SOON_MS = 10000, COMMAND_MS = 20000 };

static server *the_server;
static atomic_bool is_ending;

int locking_start_server(void **state)
{
    (void)state;
    the_server = server_start_tcp(NULL);
    return the_server != NULL ? 0 : -1;
}

int locking_start_tls(void **state)
{
    (void)state;
    the_server = server_start_tls(NULL);
    return the_server != NULL ? 0 : -1;
}

int locking_stop_server(void **state)
{
    (void)state;
    server_stop(the_server);
    the_server = NULL;
    return 0;
}

int locking_setup(void **state)
{
    locking *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    atomic_store(&is_ending, false);
    f->server = the_server;
    if (the_server != NULL)
        server_flush(the_server);
    *state = f;
    return 0;
}

void locking_own_server(locking *f, const char *const *extra_args)
{
    assert_int_equal(f->client_count, 0);
    f->server = server_start(extra_args);
    assert_non_null(f->server);
}

/* ---- clients ---- */

lk_client *
locking_open_url(locking *f, const char *url, const lk_client_options *options)
{
    lk_client_options patient = {LK_CLIENT_OPTIONS_INIT};
    lk_client *client = NULL;

    if (options != NULL)
        patient = *options;
    if (patient.command_timeout_ms == 0)
        patient.command_timeout_ms = COMMAND_MS;
    assert_true(f->client_count < LOCKING_CLIENTS);
    assert_status(lk_client_open(&client, url, &patient), LK_OK);
    f->clients[f->client_count++] = client;
    return client;
}

lk_client *locking_open(locking *f, const lk_client_options *options)
{
    lk_client *client = locking_open_url(f, server_url(f->server), options);

    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    return client;
}

const lk_client_options *locking_hasty(void)
{
    static lk_client_options hasty;

    hasty = (lk_client_options){LK_CLIENT_OPTIONS_INIT,
                                .command_timeout_ms = wait_limit_ms(300),
                                .offline_ms = wait_limit_ms(5000)};
    return &hasty;
}

lk_client *locking_open_watchdog(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};

    return locking_open(f, &options);
}

lk_client *locking_open_calm(locking *f, const lk_client_options *options)
{
    lk_client *client = locking_open(f, options);
    lk_lock *lock = NULL;

    assert_status(lk_lock_new(&lock, client, "calm", NULL), LK_OK);
    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    lk_lock_free(lock);
    locking_wait_connects(client, 2);
    locking_wait_integer(f, 1, "DEL %s", "latchkey:{calm}:r");
    return client;
}

proxy *locking_proxy(locking *f)
{
    if (f->proxy == NULL)
        f->proxy = proxy_start(server_socket(f->server));
    assert_non_null(f->proxy);
    return f->proxy;
}

lk_client *locking_open_far(locking *f, const lk_client_options *options)
{
    lk_client *client =
        locking_open_url(f, proxy_url(locking_proxy(f)), options);

    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    return client;
}

void locking_free_client(locking *f, lk_client *client)
{
    for (size_t i = 0; i < f->client_count; i++) {
        if (f->clients[i] == client)
            f->clients[i] = NULL;
    }
    lk_client_free(client);
}

/* Where a handle is that is kept. */
static size_t place_of(const locking *f, const void *handle)
{
    size_t i = 0;

    while (i < f->handle_count && f->handles[i] != handle)
        i++;
    assert_true(i < f->handle_count);
    return i;
}

void locking_free(locking *f, void *handle)
{
    size_t i = place_of(f, handle);

    f->kinds[i]->free(handle);
    f->handles[i] = NULL;
}

/* ---- handles and owners ---- */

void *locking_keep(locking *f, const kind *k, lk_client *client, void *handle)
{
    assert_true(f->handle_count < LOCKING_HANDLES);
    f->kinds[f->handle_count] = k;
    f->makers[f->handle_count] = client;
    f->handles[f->handle_count++] = handle;
    return handle;
}

void *
locking_make(locking *f, const kind *k, lk_client *client, const char *name)
{
    const kind_site site = {.clients = {client}};
    void *handle = NULL;

    assert_status(k->make(&handle, &site, name), LK_OK);
    return locking_keep(f, k, client, handle);
}

lk_lock *locking_lock(locking *f, lk_client *client, const char *name)
{
    return locking_named(f, lk_lock, client, name);
}

lk_client *locking_maker(const locking *f, const void *handle)
{
    return f->makers[place_of(f, handle)];
}

lk_owner *locking_owner(locking *f, const void *handle)
{
    lk_owner *owner = NULL;

    assert_true(f->owner_count < LOCKING_OWNERS);
    assert_status(lk_owner_new(&owner, locking_maker(f, handle)), LK_OK);
    f->owners[f->owner_count++] = owner;
    return owner;
}

static void multilock_free(void *handle)
{
    lk_multilock_free(handle);
}

static lk_status multilock_acquire(void *handle, int64_t wait_ms,
                                   const lk_acquire_options *options,
                                   lk_hold **ret_hold)
{
    return lk_multilock_acquire(handle, wait_ms, options, ret_hold);
}

const kind locking_multilock = {.free = multilock_free,
                                .acquire = multilock_acquire};

lk_hold *locking_hold_as(const kind *k, void *handle, uint64_t count,
                         const lk_acquire_options *options)
{
    lk_hold *hold = NULL;
    lk_status status;

    do {
        status = kind_acquire(k, handle, count, 0, options, &hold);
    } while (status == LK_EINDOUBT && options != NULL && options->lease_ms > 0);
    assert_status(status, LK_OK);
    return hold;
}

lk_hold *locking_hold_leased(const kind *k, void *handle, uint64_t count,
                             uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};

    return locking_hold_as(k, handle, count, &options);
}

void locking_export(lk_hold *hold, char text[LK_EXPORT_SIZE])
{
    assert_status(lk_hold_export(hold, text, LK_EXPORT_SIZE), LK_OK);
}

lk_hold *locking_import(lk_lock *lock, const char *text)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_import(lock, text, NULL, &hold), LK_OK);
    return hold;
}

lk_client_stats locking_stats(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats;
}

/* ---- threads and calls ---- */

taker *locking_take_as(locking *f, const kind *k, void *handle, uint64_t count,
                       int64_t wait_ms, const lk_acquire_options *options)
{
    return taker_start(&f->takers, k, handle, count, wait_ms, options);
}

taker *locking_queue_up_as(locking *f, const kind *k, void *handle,
                           uint64_t count, long long place)
{
    taker *t = locking_take_as(f, k, handle, count, LK_FOREVER, NULL);

    locking_wait_queued(f, "n", place);
    return t;
}

call *locking_call(locking *f)
{
    assert_true(f->call_count < LOCKING_CALLS);
    return &f->calls[f->call_count++];
}

call *locking_begin_as(locking *f, const kind *k, void *handle, int64_t wait_ms,
                       const lk_acquire_options *options)
{
    call *c = locking_call(f);
    lk_status status =
        k->acquire_async(handle, wait_ms, options, call_on_acquire, c);

    if (status != LK_OK)
        f->call_count--;
    assert_status(status, LK_OK);
    return c;
}

lk_hold *locking_granted(call *c)
{
    lk_hold *hold;

    assert_status(call_wait(c, NULL), LK_OK);
    hold = c->hold;
    c->hold = NULL;
    return hold;
}

void locking_serve(call *c)
{
    assert_status(lk_hold_release(locking_granted(c)), LK_OK);
}

/* ---- the end of a test ---- */

bool locking_is_over(void)
{
    return atomic_load(&is_ending);
}

void locking_end_waits(locking *f)
{
    atomic_store(&is_ending, true);
    if (f->proxy != NULL)
        proxy_heal(f->proxy);
    for (size_t i = 0; i < f->client_count; i++) {
        if (f->clients[i] != NULL)
            (void)lk_client_shutdown(f->clients[i], 1000);
    }
    takers_end(&f->takers);
}

/* Only the connection that asks is left, and replicas. */
static bool is_alone(void *data)
{
    locking *f = data;
    char *list = server_string(f->server, "CLIENT LIST");
    int others = -1;

    for (const char *line = list; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        const char *replica = strstr(line, " flags=S ");

        others += replica == NULL || (end != NULL && replica > end);
        line = end != NULL ? end + 1 : NULL;
    }
    free(list);
    return others == 0;
}

static bool is_over(void *data)
{
    call *c = data;

    return atomic_load(&c->ends) > 0;
}

static void calls_end(locking *f)
{
    for (size_t i = 0; i < f->call_count; i++) {
        (void)wait_until(is_over, &f->calls[i], SOON_MS);
        if (f->calls[i].hold != NULL)
            (void)lk_hold_release(f->calls[i].hold);
    }
}

/* The multilocks, or the rest. */
static void handles_free(locking *f, bool multilocks)
{
    for (size_t i = 0; i < f->handle_count; i++) {
        if ((f->kinds[i] == &locking_multilock) == multilocks)
            f->kinds[i]->free(f->handles[i]);
    }
}

int locking_teardown(void **state)
{
    locking *f = *state;
    bool alone;

    locking_end_waits(f);
    calls_end(f);
    handles_free(f, true);
    handles_free(f, false);
    for (size_t i = 0; i < f->owner_count; i++)
        lk_owner_free(f->owners[i]);
    for (size_t i = 0; i < f->client_count; i++)
        lk_client_free(f->clients[i]);
    proxy_stop(f->proxy);
    alone = f->server == NULL || server_pid(f->server) == 0 ||
            wait_until(is_alone, f, SOON_MS);
    if (f->server != the_server)
        server_stop(f->server);
    free(f);
    if (!alone)
        print_error("a connection is left at the server\n");
    return alone ? 0 : -1;
}
