/* SPDX-License-Identifier: MIT */
#include "support/sentinels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/login.h"
#include "support/wait.h"

/* A machine that stands still for two seconds has a sentinel do nothing for the
   next thirty. */
enum { WHOLE_MS = 150000 };

/* The port that the group reaches a server at. */
static unsigned port_of(const sentinels *g, const server *s)
{
    return g->is_tls ? server_tls_port(s) : server_port(s);
}

enum { ARGS = 32 };

static void args_add(const char **args, const char *const *more)
{
    size_t n = 0;

    while (args[n] != NULL)
        n++;
    for (size_t i = 0; more != NULL && more[i] != NULL && n + 1 < ARGS; i++)
        args[n++] = more[i];
    args[n] = NULL;
}

/* Told and not configured: one that is killed and started again, when it has been
   made the master, is one, with nothing. */
static void follow(sentinels *g, server *replica)
{
    freeReplyObject(server_command(replica, "REPLICAOF %s %u", g->host,
                                   port_of(g, g->servers[0])));
}

static bool servers_start(sentinels *g, const char *const *extra)
{
    static const char *const fixed[] = {"--repl-diskless-sync-delay", "0",
                                        NULL};
    const char *const announce[] = {"--replica-announce-ip", g->host, NULL};
    static const char *const tls[] = {"--tls-replication", "yes", NULL};
    /* localhost is ::1 as well, where there is such an address. */
    static const char *const both[] = {"--bind", "127.0.0.1", "-::1", NULL};

    for (size_t i = 0; i < SENTINELS_SERVERS; i++) {
        const char *args[ARGS] = {NULL};

        args_add(args, fixed);
        args_add(args, g->is_tls ? tls : NULL);
        args_add(args, announce);
        args_add(args, strcmp(g->host, "localhost") == 0 ? both : NULL);
        args_add(args, extra);
        g->servers[i] =
            g->is_tls ? server_start_tls(args) : server_start_tcp(args);
        if (g->servers[i] == NULL)
            return false;
        if (i > 0)
            follow(g, g->servers[i]);
    }
    return true;
}

static bool sentinels_run(sentinels *g, const char *extra)
{
    char config[1024];

    (void)snprintf(config, sizeof(config),
                   "%ssentinel monitor m %s %u 2\n"
                   "sentinel down-after-milliseconds m %d\n"
                   "sentinel failover-timeout m 10000\n%s",
                   g->host[0] == '1' ? ""
                                     : "sentinel resolve-hostnames yes\n"
                                       "sentinel announce-hostnames yes\n",
                   g->host, port_of(g, g->servers[0]), SENTINELS_DOWN_MS,
                   extra);
    for (size_t i = 0; i < SENTINELS; i++) {
        g->sentinels[i] = g->is_tls ? server_start_sentinel_tls(config)
                                    : server_start_sentinel(config);
        if (g->sentinels[i] == NULL)
            return false;
    }
    (void)snprintf(g->places, sizeof(g->places),
                   "127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u",
                   port_of(g, g->sentinels[0]), port_of(g, g->sentinels[1]),
                   port_of(g, g->sentinels[2]));
    (void)snprintf(g->url, sizeof(g->url), "redis%s+sentinel://%s%s/m",
                   g->is_tls ? "s" : "", login_text(), g->places);
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

/* The connections of a server end when its role changes. */
static bool says(server *s, const char *words)
{
    redisReply *reply = server_ask(s, "INFO replication");
    bool says = reply != NULL && reply->type == REDIS_REPLY_STRING &&
                strstr(reply->str, words) != NULL;

    freeReplyObject(reply);
    return says;
}

static bool follows(server *replica)
{
    return says(replica, "master_link_status:up");
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

/* One is named by all, and the others follow it. */
static bool is_whole(void *data)
{
    sentinels *g = data;
    server *master = sentinels_named_by(g, 0);

    for (size_t i = 0; i < SENTINELS_SERVERS; i++) {
        if (server_pid(g->servers[i]) == 0 ||
            (g->servers[i] == master ? !says(master, "role:master")
                                     : !follows(g->servers[i])))
            return false;
    }
    for (size_t i = 0; i < SENTINELS; i++) {
        if (sentinels_named_by(g, i) != master || !knows_all(g->sentinels[i]) ||
            !can_choose(g->sentinels[i]))
            return false;
    }
    return true;
}

static bool all_follow(void *data)
{
    sentinels *g = data;

    return follows(g->servers[1]) && follows(g->servers[2]);
}

sentinels *sentinels_start_with(const sentinels_options *options)
{
    sentinels *g = calloc(1, sizeof(*g));

    if (g != NULL) {
        g->is_tls = options->is_tls;
        g->host = options->has_names ? "localhost" : "127.0.0.1";
    }
    if (g != NULL && servers_start(g, options->server_args) &&
        wait_until(all_follow, g, WHOLE_MS) &&
        sentinels_run(g, options->config != NULL ? options->config : "") &&
        wait_until(is_whole, g, WHOLE_MS))
        return g;
    (void)fprintf(stderr, "sentinels: the group does not come together\n");
    sentinels_stop(g);
    return NULL;
}

sentinels *sentinels_start(void)
{
    static const sentinels_options plain = {.is_tls = false};

    return sentinels_start_with(&plain);
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
        if ((long)port_of(g, g->servers[i]) ==
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

bool sentinels_name_other(sentinels *g, const server *than, unsigned ms)
{
    struct other other = {.g = g, .than = than};

    return wait_until(is_other, &other, ms);
}

server *sentinels_wait_other(sentinels *g, const server *than)
{
    struct other other = {.g = g, .than = than};

    if (!wait_until(is_other, &other, WHOLE_MS))
        fail_msg("the sentinels name no other master");
    return other.named;
}

static bool has_next(void *data)
{
    struct other *other = data;

    for (size_t i = 0; i < SENTINELS_SERVERS; i++) {
        if (other->g->servers[i] != other->than &&
            says(other->g->servers[i], "role:master"))
            other->named = other->g->servers[i];
    }
    return other->named != NULL;
}

bool sentinels_wait_whole(sentinels *g)
{
    return wait_until(is_whole, g, WHOLE_MS);
}

server *sentinels_failover(sentinels *g)
{
    struct other other = {.g = g, .than = sentinels_named_by(g, 0)};
    char *ok = server_string(g->sentinels[0], "SENTINEL FAILOVER m");

    assert_string_equal(ok, "OK");
    free(ok);
    if (!wait_until(has_next, &other, WHOLE_MS))
        fail_msg("no replica becomes the master");
    server_reconnect(other.named);
    return other.named;
}
