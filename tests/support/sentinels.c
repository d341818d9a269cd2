/* SPDX-License-Identifier: MIT */
#include "support/sentinels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { WHOLE_MS = 60000 };

static bool servers_start(sentinels *g)
{
    char port[8];
    const char *first[] = {"--repl-diskless-sync-delay", "0", NULL};
    const char *follow[] = {"--repl-diskless-sync-delay",
                            "0",
                            "--replicaof",
                            "127.0.0.1",
                            port,
                            NULL};

    g->servers[0] = server_start_tcp(first);
    if (g->servers[0] == NULL)
        return false;
    (void)snprintf(port, sizeof(port), "%u", server_port(g->servers[0]));
    for (size_t i = 1; i < SENTINELS_SERVERS; i++) {
        g->servers[i] = server_start_tcp(follow);
        if (g->servers[i] == NULL)
            return false;
    }
    return true;
}

static bool sentinels_run(sentinels *g)
{
    char config[512];

    (void)snprintf(config, sizeof(config),
                   "sentinel monitor m 127.0.0.1 %u 2\n"
                   "sentinel down-after-milliseconds m %d\n"
                   "sentinel failover-timeout m 10000\n",
                   server_port(g->servers[0]), SENTINELS_DOWN_MS);
    for (size_t i = 0; i < SENTINELS; i++) {
        g->sentinels[i] = server_start_sentinel(config);
        if (g->sentinels[i] == NULL)
            return false;
    }
    (void)snprintf(g->url, sizeof(g->url),
                   "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u/m",
                   server_port(g->sentinels[0]), server_port(g->sentinels[1]),
                   server_port(g->sentinels[2]));
    return true;
}

/* Fields of what a sentinel says of the master. */
static bool
field_is(const redisReply *reply, const char *key, const char *value)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return false;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        if (strcmp(reply->element[i]->str, key) == 0)
            return strcmp(reply->element[i + 1]->str, value) == 0;
    }
    return false;
}

static bool knows_all(server *sentinel)
{
    redisReply *reply = server_command(sentinel, "SENTINEL MASTER m");
    bool knows = field_is(reply, "num-slaves", "2") &&
                 field_is(reply, "num-other-sentinels", "2") &&
                 field_is(reply, "flags", "master");

    freeReplyObject(reply);
    return knows;
}

static bool follows(server *replica)
{
    char *info = server_string(replica, "INFO replication");
    bool follows = strstr(info, "master_link_status:up") != NULL;

    free(info);
    return follows;
}

/* A sentinel can choose a replica only once it has heard that it follows. */
static bool can_choose(server *sentinel)
{
    redisReply *reply = server_command(sentinel, "SENTINEL REPLICAS m");
    size_t good = 0;

    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements;
         i++)
        good += field_is(reply->element[i], "flags", "slave") &&
                field_is(reply->element[i], "master-link-status", "ok");
    freeReplyObject(reply);
    return good == SENTINELS_SERVERS - 1;
}

static bool is_whole(void *data)
{
    sentinels *g = data;

    for (size_t i = 1; i < SENTINELS_SERVERS; i++) {
        if (!follows(g->servers[i]))
            return false;
    }
    for (size_t i = 0; i < SENTINELS; i++) {
        if (!knows_all(g->sentinels[i]) || !can_choose(g->sentinels[i]))
            return false;
    }
    return true;
}

static bool all_follow(void *data)
{
    sentinels *g = data;

    return follows(g->servers[1]) && follows(g->servers[2]);
}

sentinels *sentinels_start(void)
{
    sentinels *g = calloc(1, sizeof(*g));

    if (g != NULL && servers_start(g) && wait_until(all_follow, g, WHOLE_MS) &&
        sentinels_run(g) && wait_until(is_whole, g, WHOLE_MS))
        return g;
    (void)fprintf(stderr, "sentinels: the group does not come together\n");
    sentinels_stop(g);
    return NULL;
}

void sentinels_stop(sentinels *g)
{
    if (g == NULL)
        return;
    for (size_t i = 0; i < SENTINELS; i++)
        server_stop(g->sentinels[i]);
    for (size_t i = 0; i < SENTINELS_SERVERS; i++)
        server_stop(g->servers[i]);
    free(g);
}

server *sentinels_named_by(sentinels *g, size_t sentinel)
{
    redisReply *reply = server_command(g->sentinels[sentinel],
                                       "SENTINEL GET-MASTER-ADDR-BY-NAME m");
    server *named = NULL;

    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < SENTINELS_SERVERS; i++) {
        if (server_port(g->servers[i]) ==
            strtol(reply->element[1]->str, NULL, 10))
            named = g->servers[i];
    }
    freeReplyObject(reply);
    assert_non_null(named);
    return named;
}

struct other {
    sentinels *g;
    const server *than;
    server *named;
};

static bool is_other(void *data)
{
    struct other *other = data;

    for (size_t i = 0; i < SENTINELS; i++) {
        if (server_pid(other->g->sentinels[i]) == 0)
            continue;
        other->named = sentinels_named_by(other->g, i);
        if (other->named == other->than)
            return false;
    }
    return other->named != NULL;
}

server *sentinels_wait_other(sentinels *g, const server *than)
{
    struct other other = {.g = g, .than = than};

    if (!wait_until(is_other, &other, WHOLE_MS))
        fail_msg("the sentinels name no other master");
    return other.named;
}

/* By a connection of its own: those that stand end with the role. */
static bool is_writable(server *s)
{
    redisContext *context = redisConnectUnix(server_socket(s));
    redisReply *reply = context == NULL || context->err != 0
                            ? NULL
                            : redisCommand(context, "ROLE");
    bool is = reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
              strcmp(reply->element[0]->str, "master") == 0;

    freeReplyObject(reply);
    redisFree(context);
    return is;
}

static bool has_next(void *data)
{
    struct other *other = data;

    for (size_t i = 1; i < SENTINELS_SERVERS; i++) {
        if (is_writable(other->g->servers[i]))
            other->named = other->g->servers[i];
    }
    return other->named != NULL;
}

server *sentinels_failover(sentinels *g)
{
    struct other other = {.g = g};
    char *ok = server_string(g->sentinels[0], "SENTINEL FAILOVER m");

    assert_string_equal(ok, "OK");
    free(ok);
    if (!wait_until(has_next, &other, WHOLE_MS))
        fail_msg("no replica becomes the master");
    server_reconnect(other.named);
    return other.named;
}
