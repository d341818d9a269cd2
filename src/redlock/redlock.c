/* SPDX-License-Identifier: MIT */

/* The handle: its clients, its options, and what was said last. */

#include "redlock/redlock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "handle/handle.h"

#define MS UINT64_C(1000000)

enum { LEASE_MS = 30000, NODE_TIMEOUT_MS = 50, RETRY_MS = 100 };

/* ---- checks ------------------------------------------------------------------ */

lk_status
lk__redlock_check_useful(const lk_redlock_options *options, uint64_t lease_ms)
{
    uint64_t validity_ns = lk__deadline_ns(0, lease_ms);

    if (validity_ns > 0 && validity_ns / MS >= options->useful_ms)
        return LK_OK;
    return lk__fail(LK_EINVAL,
                    "of a lease of %" PRIu64 " ms never more than %" PRIu64
                    " ms are valid: none, or less than useful_ms",
                    lease_ms, validity_ns / MS);
}

static lk_status options_check(lk_redlock_options *options)
{
    if (options->lease_ms == 0)
        options->lease_ms = LEASE_MS;
    if (options->longest_lease_ms == 0)
        options->longest_lease_ms = options->lease_ms;
    if (options->node_timeout_ms == 0)
        options->node_timeout_ms = NODE_TIMEOUT_MS;
    if (options->retry_ms == 0)
        options->retry_ms = RETRY_MS;
    if (options->durable > 1)
        return lk__fail(LK_EINVAL, "durable has to be 0 or 1");
    if (lk__lease_check(options->lease_ms) != LK_OK ||
        lk__lease_check(options->longest_lease_ms) != LK_OK)
        return LK_EINVAL;
    if (options->longest_lease_ms < options->lease_ms)
        return lk__fail(LK_EINVAL, "longest_lease_ms is less than lease_ms");
    if (options->node_timeout_ms >= options->lease_ms ||
        options->useful_ms >= options->lease_ms)
        return lk__fail(LK_EINVAL, "node_timeout_ms and useful_ms have to be "
                                   "less than the lease");
    if (options->retry_ms > LK__TIME_MAX_MS)
        return lk__fail(LK_EINVAL, "retry_ms is out of range");
    return lk__redlock_check_useful(options, options->lease_ms);
}

static lk_status name_check(const char *name)
{
    if (name == NULL || name[0] == '\0' || strlen(name) > LK__NAME_MAX)
        return lk__fail(LK_EINVAL, "a name has 1 to %d bytes", LK__NAME_MAX);
    return lk__name_check_own(name);
}

static lk_status client_check(lk_client *const *clients, size_t i)
{
    lk_status status;

    if (clients[i] == NULL)
        return lk__fail(LK_EINVAL, "client %zu is NULL", i);
    status = lk__client_check(clients[i]);
    if (status != LK_OK)
        return status;
    for (size_t j = 0; j < i; j++) {
        if (clients[j] == clients[i])
            return lk__fail(LK_EINVAL, "clients %zu and %zu are the same", j,
                            i);
    }
    if (clients[i]->settings.dispatch != clients[0]->settings.dispatch)
        return lk__fail(LK_EINVAL, "clients with and without dispatch: it "
                                   "would be left to chance where callbacks "
                                   "run");
    return LK_OK;
}

static lk_status clients_check(lk_client *const *clients, size_t count)
{
    lk_status status = LK_OK;

    if (clients == NULL || count == 0)
        return lk__fail(LK_EINVAL, "no clients were given");
    if (count > LK_REDLOCK_NODES_MAX)
        return lk__fail(LK_EINVAL, "more than %d clients",
                        LK_REDLOCK_NODES_MAX);
    if (count % 2 == 0)
        return lk__fail(LK_EINVAL,
                        "%zu clients: an even number bears no more failures "
                        "than one less",
                        count);
    for (size_t i = 0; i < count && status == LK_OK; i++)
        status = client_check(clients, i);
    return status;
}

/* ---- life --------------------------------------------------------------------- */

/* Its majority is one of servers that have nothing to do with each other. */
static lk_status groups_refuse(lk_client *const *clients, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (clients[i]->settings.master != NULL ||
            clients[i]->settings.seed_count > 0)
            return lk__fail(LK_ENOTSUP,
                            "a redlock takes servers of its own, and no master "
                            "of Sentinel and no cluster: use a lock there");
    }
    return LK_OK;
}

lk_status lk_redlock_new(lk_redlock **ret_redlock, lk_client *const *clients,
                         size_t count, const char *name,
                         const lk_redlock_options *options)
{
    lk_redlock_options copy;
    lk_redlock *redlock;
    lk_status status = lk__options_copy(&copy, sizeof(copy), options);

    if (ret_redlock == NULL)
        return lk__fail(LK_EINVAL, "ret_redlock is NULL");
    if (status == LK_OK)
        status = options_check(&copy);
    if (status == LK_OK)
        status = name_check(name);
    if (status == LK_OK)
        status = clients_check(clients, count);
    if (status == LK_OK)
        status = groups_refuse(clients, count);
    if (status != LK_OK)
        return status;
    redlock = lk__alloc(sizeof(*redlock));
    if (redlock != NULL)
        redlock->name = lk__strdup(name);
    if (redlock == NULL || redlock->name == NULL) {
        lk__free(redlock);
        return LK_ENOMEM;
    }
    redlock->refs = 1;
    redlock->options = copy;
    redlock->count = count;
    for (size_t i = 0; i < count; i++)
        redlock->clients[i] = lk__client_ref(clients[i]);
    pthread_mutex_init(&redlock->mutex, NULL);
    *ret_redlock = redlock;
    return LK_OK;
}

lk_redlock *lk__redlock_ref(lk_redlock *redlock)
{
    redlock->refs++;
    return redlock;
}

void lk__redlock_unref(lk_redlock *redlock)
{
    if (--redlock->refs > 0)
        return;
    if (redlock->last != NULL)
        lk__token_unref(redlock->last);
    for (size_t i = 0; i < redlock->count; i++)
        lk__client_unref(redlock->clients[i]);
    pthread_mutex_destroy(&redlock->mutex);
    lk__free(redlock->name);
    lk__free(redlock);
}

void lk_redlock_free(lk_redlock *redlock)
{
    if (redlock != NULL)
        lk__redlock_unref(redlock);
}

/* ---- outcomes ------------------------------------------------------------------- */

void lk__redlock_note(lk_redlock *redlock, lk__token *token)
{
    lk__token *before;

    lk__token_ref(token);
    pthread_mutex_lock(&redlock->mutex);
    before = redlock->last;
    redlock->last = token;
    pthread_mutex_unlock(&redlock->mutex);
    if (before != NULL)
        lk__token_unref(before);
}

static lk__token *last_token(lk_redlock *redlock)
{
    lk__token *token;

    pthread_mutex_lock(&redlock->mutex);
    token = redlock->last;
    if (token != NULL)
        lk__token_ref(token);
    pthread_mutex_unlock(&redlock->mutex);
    return token;
}

lk_status lk_redlock_outcome_get(lk_redlock *redlock, size_t node,
                                 lk_redlock_outcome *ret_outcome)
{
    lk_redlock_outcome all = {0};
    lk__token *token;
    lk_status status = lk__result_check(ret_outcome);

    if (redlock == NULL)
        return lk__fail(LK_EINVAL, "the handle is NULL");
    if (status == LK_OK)
        status = lk__client_check(redlock->clients[0]);
    if (status != LK_OK)
        return status;
    if (node >= redlock->count)
        return lk__fail(LK_EINVAL, "there are %zu nodes, from 0",
                        redlock->count);
    token = last_token(redlock);
    if (token == NULL)
        return lk__fail(LK_ENOTHELD, "there was no attempt yet");

    pthread_mutex_lock(&token->mutex);
    all.answer = token->votes[node].answer;
    all.status = token->votes[node].status;
    memcpy(all.words, token->votes[node].words, sizeof(all.words));
    pthread_mutex_unlock(&token->mutex);
    lk__token_unref(token);
    lk__result_give(ret_outcome, &all, sizeof(all));
    return LK_OK;
}

lk_status lk_redlock_run(lk_redlock *redlock, int64_t wait_ms,
                         const lk_acquire_options *options, lk_run_fn fn,
                         void *data)
{
    lk_hold *hold;
    lk_status status;

    if (fn == NULL)
        return lk__fail(LK_EINVAL, "the function is NULL");
    status = lk_redlock_acquire(redlock, wait_ms, options, &hold);
    return status != LK_OK ? status : lk__handle_run(hold, fn, data);
}
