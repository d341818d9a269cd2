/* SPDX-License-Identifier: MIT */
#include "support/made.h"

#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum {
    CLIENTS = 64,
    LOCKS = 512,
    CALLS = 64,
    LONG_MS = 60000,
    COMMAND_MS = 2000, /* the library's default */
    COMMAND_MOST_MS = 20000
};

static lk_client *clients[CLIENTS];
static size_t client_count;
static lk_lock *locks[LOCKS];
static size_t lock_count;
static call calls[CALLS];
static size_t call_count;

int made_end(void **state)
{
    (void)state;
    while (lock_count > 0)
        lk_lock_free(locks[--lock_count]);
    while (client_count > 0)
        lk_client_free(clients[--client_count]);
    memset(calls, 0, sizeof(calls));
    call_count = 0;
    return 0;
}

/* As patient as the default is on a machine with time. */
static uint64_t command_ms(void)
{
    uint64_t ms = wait_limit_ms(COMMAND_MS);

    return ms < COMMAND_MOST_MS ? ms : COMMAND_MOST_MS;
}

lk_client *made_client(const char *url, const lk_client_options *options)
{
    lk_client_options patient = {LK_CLIENT_OPTIONS_INIT};
    lk_client *client = NULL;

    if (options != NULL)
        patient = *options;
    if (patient.command_timeout_ms == 0)
        patient.command_timeout_ms = command_ms();
    assert_true(client_count < CLIENTS);
    assert_status(lk_client_open(&client, url, &patient), LK_OK);
    clients[client_count++] = client;
    return client;
}

void made_free_client(lk_client *client)
{
    for (size_t i = 0; i < client_count; i++) {
        if (clients[i] == client)
            clients[i] = NULL;
    }
    lk_client_free(client);
}

call *made_call(void)
{
    assert_true(call_count < CALLS);
    return &calls[call_count++];
}

lk_lock *made_lock(lk_client *client, const char *name)
{
    lk_lock *lock = NULL;

    assert_true(lock_count < LOCKS);
    assert_status(lk_lock_new(&lock, client, name, NULL), LK_OK);
    locks[lock_count++] = lock;
    return lock;
}

lk_hold *made_hold(lk_lock *lock)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, (int64_t)wait_limit_ms(LONG_MS), NULL,
                                  &hold),
                  LK_OK);
    return hold;
}
