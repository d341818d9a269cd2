/* SPDX-License-Identifier: MIT */
#include "support/scene.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "support/check.h"
#include "support/wait.h"

struct attempt {
    pthread_t id;
    lk_lock *lock;
    int64_t wait_ms;
    lk_acquire_options options;
    lk_status status;
    lk_hold *hold;
    uint64_t began_at, ended_at;
    _Atomic bool has_ended;
    bool is_joined;
};

/* ---- setup --------------------------------------------------------------- */

/* Options NULL: the usual ones, but a slow machine may be offline for longer. */
static bool client_open(const char *url, const lk_client_options *options,
                        lk_client **ret_client, lk_lock **ret_lock)
{
    const lk_client_options usual = {LK_CLIENT_OPTIONS_INIT,
                                     .offline_ms = wait_scaled_ms(5000)};

    if (options == NULL)
        options = &usual;
    return lk_client_open(ret_client, url, options) == LK_OK &&
           lk_lock_new(ret_lock, *ret_client, "job", NULL) == LK_OK;
}

int scene_setup(void **state)
{
    scene *sc = calloc(1, sizeof(*sc));

    *state = sc;
    if (sc == NULL)
        return 1;
    sc->server = server_start(NULL);
    if (sc->server == NULL)
        return 1;
    sc->proxy = proxy_start(server_socket(sc->server));
    return sc->proxy == NULL ||
           !client_open(server_url(sc->server), NULL, &sc->near,
                        &sc->near_lock) ||
           !client_open(server_url(sc->server), NULL, &sc->third,
                        &sc->third_lock);
}

static void attempt_join(attempt *a)
{
    if (!a->is_joined)
        (void)pthread_join(a->id, NULL);
    a->is_joined = true;
}

static void attempt_free(attempt *a)
{
    attempt_join(a);
    if (a->hold != NULL)
        (void)lk_hold_release(a->hold);
    free(a);
}

int scene_teardown(void **state)
{
    scene *sc = *state;
    lk_client *clients[] = {sc->far, sc->near, sc->third};

    for (unsigned i = 0; i < 3; i++)
        if (clients[i] != NULL)
            (void)lk_client_shutdown(clients[i], 0);
    for (unsigned i = 0; i < sc->attempt_count; i++)
        attempt_free(sc->attempts[i]);
    lk_lock_free(sc->far_lock);
    lk_lock_free(sc->near_lock);
    lk_lock_free(sc->third_lock);
    for (unsigned i = 0; i < 3; i++)
        lk_client_free(clients[i]);
    proxy_stop(sc->proxy);
    server_stop(sc->server);
    free(sc);
    return 0;
}

void scene_open_far(scene *sc, const lk_client_options *options)
{
    assert_true(
        client_open(proxy_url(sc->proxy), options, &sc->far, &sc->far_lock));
    assert_status(lk_client_wait_ready(sc->far, SCENE_MS), LK_OK);
}

void scene_far(scene *sc, const lk_client_options *options)
{
    scene_open_far(sc, options);
    assert_status(lk_hold_release(scene_hold(sc->far_lock, NULL)), LK_OK);
    assert_true(scene_connects(sc->far, 2));
    scene_is_clean(sc);
}

lk_hold *scene_hold(lk_lock *lock, const lk_acquire_options *options)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, SCENE_MS, options, &hold), LK_OK);
    return hold;
}

/* ---- attempts ------------------------------------------------------------ */

static void *attempt_run(void *data)
{
    attempt *a = data;

    a->status = lk_lock_acquire(a->lock, a->wait_ms, &a->options, &a->hold);
    a->ended_at = wait_now_ms();
    a->has_ended = true;
    return NULL;
}

attempt *scene_attempt(scene *sc, lk_lock *lock, int64_t wait_ms,
                       const lk_acquire_options *options)
{
    attempt *a = calloc(1, sizeof(*a));

    assert_non_null(a);
    assert_true(sc->attempt_count < SCENE_ATTEMPTS);
    a->lock = lock;
    a->wait_ms = wait_ms;
    a->options = (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT};
    if (options != NULL)
        a->options = *options;
    a->began_at = wait_now_ms();
    assert_int_equal(pthread_create(&a->id, NULL, attempt_run, a), 0);
    sc->attempts[sc->attempt_count++] = a;
    return a;
}

static bool has_ended(void *data)
{
    const attempt *a = data;

    return atomic_load(&a->has_ended);
}

bool attempt_has_ended(attempt *a, unsigned deadline_ms)
{
    return wait_until(has_ended, a, deadline_ms);
}

lk_status attempt_status(attempt *a)
{
    assert_true(attempt_has_ended(a, SCENE_MS));
    attempt_join(a);
    return a->status;
}

lk_hold *attempt_hold(attempt *a)
{
    lk_hold *hold;

    assert_status(attempt_status(a), LK_OK);
    hold = a->hold;
    a->hold = NULL;
    return hold;
}

uint64_t attempt_took_ms(attempt *a)
{
    return a->ended_at - a->began_at;
}

/* ---- the server ---------------------------------------------------------- */

typedef struct question {
    scene *scene;
    const char *command;
    long long integer;
    bool or_more;
} question;

static bool is_answered_so(void *data)
{
    const question *q = data;
    redisReply *reply = server_command(q->scene->server, q->command);
    long long answer = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -9;

    freeReplyObject(reply);
    return q->or_more ? answer >= q->integer : answer == q->integer;
}

bool scene_becomes(scene *sc, const char *command, long long integer)
{
    question q = {sc, command, integer, false};

    return wait_until(is_answered_so, &q, SCENE_MS);
}

bool scene_reaches(scene *sc, const char *command, long long integer)
{
    question q = {sc, command, integer, true};

    return wait_until(is_answered_so, &q, SCENE_MS);
}

void scene_command(scene *sc, const char *command)
{
    redisReply *reply = server_command(sc->server, command);

    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

void scene_deafens(scene *sc, int inbox)
{
    long long before = server_integer(sc->server, SCENE_INBOXES);

    proxy_reset(sc->proxy, inbox);
    assert_true(scene_becomes(sc, SCENE_INBOXES, before - 1));
}

long long scene_immortal_keys(scene *sc)
{
    redisReply *keys = server_command(sc->server, "KEYS *");
    long long count = 0;

    for (size_t i = 0; i < keys->elements; i++)
        count += server_integer(sc->server, "PTTL %b", keys->element[i]->str,
                                keys->element[i]->len) == -1;
    freeReplyObject(keys);
    return count;
}

void scene_is_clean(scene *sc)
{
    assert_true(scene_becomes(sc, "EXISTS job", 0));
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 0));
    assert_int_equal(scene_immortal_keys(sc), 0);
}

lk_client_stats scene_stats(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats;
}

typedef struct connections {
    lk_client *client;
    uint64_t least;
} connections;

static bool is_connected(void *data)
{
    const connections *c = data;

    return scene_stats(c->client).connects >= c->least;
}

bool scene_connects(lk_client *client, uint64_t connects)
{
    return wait_until(is_connected, &(connections){client, connects}, SCENE_MS);
}

/* What a client has counted. */
typedef struct tally {
    lk_client *client;
    uint64_t renewals, rechecks, replies; /* at the least */
    bool is_calm;                         /* nothing is under way besides */
} tally;

static bool is_counted(void *data)
{
    const tally *t = data;
    lk_client_stats stats = scene_stats(t->client);

    return stats.renewals >= t->renewals && stats.rechecks >= t->rechecks &&
           stats.replies >= t->replies && (!t->is_calm || stats.pending == 0);
}

void scene_renews(lk_client *client, uint64_t times)
{
    tally t = {client, scene_stats(client).renewals + times, 0, 0, false};

    assert_true(wait_until(is_counted, &t, SCENE_MS));
}

void scene_looks(lk_client *client, uint64_t times)
{
    tally t = {client, 0, scene_stats(client).rechecks + times, 0, false};

    assert_true(wait_until(is_counted, &t, SCENE_MS));
}

void scene_hears(lk_client *client, uint64_t times)
{
    tally t = {client, 0, 0, scene_stats(client).replies + times, true};

    assert_true(wait_until(is_counted, &t, SCENE_MS));
}

void scene_pass_ms(unsigned ms)
{
    struct timespec span = {.tv_sec = ms / 1000,
                            .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&span, NULL);
}
