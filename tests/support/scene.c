/* SPDX-License-Identifier: MIT */
#include "support/scene.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

/* The defaults, of a machine with time. */
enum { OFFLINE_MS = 5000, COMMAND_MS = 2000 };

/* ---- setup --------------------------------------------------------------- */

/* options: may be NULL. A slow machine may be offline for longer, unless they say for
   how long. */
static void
enter(locking *f, actor *a, const char *url, const lk_client_options *options)
{
    lk_client_options patient = {LK_CLIENT_OPTIONS_INIT};

    if (options != NULL)
        patient = *options;
    if (patient.offline_ms == 0)
        patient.offline_ms = wait_limit_ms(OFFLINE_MS);
    if (patient.command_timeout_ms == 0)
        patient.command_timeout_ms = wait_limit_ms(COMMAND_MS);
    a->client = locking_open_url(f, url, &patient);
    a->lock = locking_lock(f, a->client, "job");
}

int scene_setup(void **state)
{
    locking *f;

    if (locking_setup(state) != 0)
        return -1;
    f = *state;
    locking_own_server(f, NULL);
    (void)locking_proxy(f);
    enter(f, &f->near, server_url(f->server), NULL);
    enter(f, &f->third, server_url(f->server), NULL);
    return 0;
}

void scene_open_far(locking *f, const lk_client_options *options)
{
    enter(f, &f->far, proxy_url(f->proxy), options);
    assert_status(lk_client_wait_ready(f->far.client, SCENE_MS), LK_OK);
}

void scene_far(locking *f, const lk_client_options *options)
{
    scene_open_far(f, options);
    assert_status(lk_hold_release(scene_hold(f->far.lock, NULL)), LK_OK);
    assert_true(scene_connects(f->far.client, 2));
    scene_is_clean(f);
}

lk_hold *scene_hold(lk_lock *lock, const lk_acquire_options *options)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, SCENE_MS, options, &hold), LK_OK);
    return hold;
}

/* ---- the server ---------------------------------------------------------- */

typedef struct question {
    locking *f;
    const char *command;
    long long integer;
    bool or_more;
} question;

static bool is_answered_so(void *data)
{
    const question *q = data;
    redisReply *reply = server_command(q->f->server, q->command);
    long long answer = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -9;

    freeReplyObject(reply);
    return q->or_more ? answer >= q->integer : answer == q->integer;
}

bool scene_becomes(locking *f, const char *command, long long integer)
{
    question q = {f, command, integer, false};

    return wait_until(is_answered_so, &q, SCENE_MS);
}

bool scene_reaches(locking *f, const char *command, long long integer)
{
    question q = {f, command, integer, true};

    return wait_until(is_answered_so, &q, SCENE_MS);
}

void scene_command(locking *f, const char *command)
{
    redisReply *reply = server_command(f->server, command);

    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

void scene_deafens(locking *f, int inbox)
{
    long long before = server_integer(f->server, SCENE_INBOXES);

    proxy_reset(f->proxy, inbox);
    assert_true(scene_becomes(f, SCENE_INBOXES, before - 1));
}

long long scene_immortal_keys(locking *f)
{
    redisReply *keys = server_command(f->server, "KEYS *");
    long long count = 0;

    for (size_t i = 0; i < keys->elements; i++)
        count += server_integer(f->server, "PTTL %b", keys->element[i]->str,
                                keys->element[i]->len) == -1;
    freeReplyObject(keys);
    return count;
}

void scene_is_clean(locking *f)
{
    assert_true(scene_becomes(f, "EXISTS job", 0));
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 0));
    assert_int_equal(scene_immortal_keys(f), 0);
}

typedef struct connections {
    lk_client *client;
    uint64_t least;
} connections;

static bool is_connected(void *data)
{
    const connections *c = data;

    return locking_stats(c->client).connects >= c->least;
}

bool scene_connects(lk_client *client, uint64_t connects)
{
    return wait_until(is_connected, &(connections){client, connects}, SCENE_MS);
}

/* What a client has counted. */
typedef struct tally {
    lk_client *client;
    uint64_t rechecks, replies; /* at least */
    bool is_calm;               /* nothing is under way besides */
} tally;

static bool is_counted(void *data)
{
    const tally *t = data;
    lk_client_stats stats = locking_stats(t->client);

    return stats.rechecks >= t->rechecks && stats.replies >= t->replies &&
           (!t->is_calm || stats.pending == 0);
}

void scene_looks(lk_client *client, uint64_t times)
{
    tally t = {client, locking_stats(client).rechecks + times, 0, false};

    assert_true(wait_until(is_counted, &t, SCENE_MS));
}

void scene_hears(lk_client *client, uint64_t times)
{
    tally t = {client, 0, locking_stats(client).replies + times, true};

    assert_true(wait_until(is_counted, &t, SCENE_MS));
}
