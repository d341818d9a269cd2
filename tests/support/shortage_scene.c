/* SPDX-License-Identifier: MIT */
#include "support/shortage_scene.h"

#include <stdio.h>

#include "support/wait.h"

enum { END_MS = 20000 };

/* ---- what must hold ------------------------------------------------------------- */

void shortage_wrong(shortage *s, const char *what, lk_status status)
{
    if (s->wrong[0] == '\0')
        (void)snprintf(s->wrong, sizeof(s->wrong), "%s: %s: %.100s", what,
                       lk_status_name(status), lk_last_error());
}

/* What is short here, or what comes of it at the server. */
static bool is_answer(lk_status status)
{
    static const lk_status answers[] = {LK_OK,        LK_ENOMEM,   LK_EOFFLINE,
                                        LK_ETIMEDOUT, LK_EINDOUBT, LK_ELOST,
                                        LK_EBUSY,     LK_ECLOSED,  LK_ECANCELED,
                                        LK_ENOTHELD,  LK_EUNSET,   LK_EALREADY,
                                        LK_EQUORUM,   LK_EGONE,    LK_EPENDING};

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (status == answers[i])
            return true;
    }
    return false;
}

/* Whether it went well; with words if it did not. */
bool shortage_good(shortage *s, const char *what, lk_status status)
{
    if (!is_answer(status))
        shortage_wrong(s, what, status);
    if (status != LK_OK && lk_last_error()[0] == '\0')
        shortage_wrong(s, "no words", status);
    return status == LK_OK;
}

bool shortage_held(shortage *s, const char *what, lk_status status,
                   lk_hold *const *hold)
{
    if (shortage_good(s, what, status) != (*hold != NULL))
        shortage_wrong(s, "a hold that is none", status);
    if (*hold != NULL && lk_hold_remaining_ms(*hold) > LEASE_MS)
        shortage_wrong(s, "a hold that lasts too long", status);
    return *hold != NULL;
}

void shortage_give(shortage *s, lk_hold *hold)
{
    if (hold != NULL)
        (void)shortage_good(s, "release", lk_hold_release(hold));
}

/* ---- calls that do not wait ------------------------------------------------------ */

void shortage_on_done(lk_status status, void *data)
{
    shortage_async *a = data;

    (void)shortage_good(a->s, "callback", status);
    atomic_fetch_add(&a->ended, 1);
}

void shortage_on_acquire(lk_status status, lk_hold *hold, void *data)
{
    shortage_async *a = data;

    (void)shortage_held(a->s, "async acquire", status, &hold);
    atomic_store(&a->hold, hold);
    atomic_fetch_add(&a->ended, 1);
}

void shortage_on_info(lk_status status, lk_info *info, void *data)
{
    if (status == LK_OK)
        lk_info_free(info);
    shortage_on_done(status, data);
}

void shortage_on_leader(lk_status status, const lk_party *leader, void *data)
{
    (void)status;
    (void)leader;
    (void)data;
}

void shortage_on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)hold;
    (void)remaining_ms;
    (void)data;
}

void shortage_begin(shortage_async *a, lk_status status)
{
    if (shortage_good(a->s, "async call", status))
        atomic_fetch_add(&a->begun, 1);
}

static bool has_ended(void *data)
{
    shortage_async *a = data;

    return atomic_load(&a->ended) == atomic_load(&a->begun);
}

/* All that were begun, each once. */
void shortage_await(shortage_async *a)
{
    if (!wait_until(has_ended, a, END_MS))
        shortage_wrong(a->s, "a call has not ended", LK_OK);
}

/* ---- clients --------------------------------------------------------------------- */

/* NULL: it could not be had. */
lk_client *shortage_open(shortage *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .connect_timeout_ms = WAIT_MS,
                                       .command_timeout_ms = WAIT_MS,
                                       .offline_ms = WAIT_MS,
                                       .watchdog_ms = LEASE_MS};
    lk_client *client = NULL;
    lk_status status = lk_client_open(&client, s->url, &options);

    if (shortage_good(s, "open", status) != (client != NULL))
        shortage_wrong(s, "a client that is none", status);
    return client;
}

void shortage_close(shortage *s, lk_client *client)
{
    if (client == NULL)
        return;
    (void)shortage_good(s, "shutdown", lk_client_shutdown(client, WAIT_MS));
    lk_client_free(client);
}

lk_lock *shortage_lock(shortage *s, lk_client *client)
{
    lk_lock *lock = NULL;

    if (client != NULL)
        (void)shortage_good(s, "lock",
                            lk_lock_new(&lock, client, s->name, NULL));
    return lock;
}

lk_hold *shortage_take(shortage *s, lk_lock *lock)
{
    lk_hold *hold = NULL;

    if (lock != NULL)
        (void)shortage_held(s, "acquire",
                            lk_lock_acquire(lock, WAIT_MS, NULL, &hold), &hold);
    return hold;
}
