/* SPDX-License-Identifier: MIT */
#include "support/plain_redisson.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/wait.h"

#define CHANNEL "redisson_sc:{n}"

static const char try_script[] =
    "local free = redis.call('get', KEYS[1]) "
    "if free ~= false and tonumber(free) >= tonumber(ARGV[1]) then "
    "redis.call('decrby', KEYS[1], ARGV[1]) return 1 end return 0";

static const char release_script[] =
    "local free = redis.call('incrby', KEYS[1], ARGV[1]) "
    "redis.call('publish', ARGV[2], free) return free";

static const char add_script[] =
    "local free = tonumber(redis.call('get', KEYS[1]) or 0) + ARGV[1] "
    "redis.call('set', KEYS[1], free) "
    "redis.call('publish', ARGV[2], free) return free";

static const char drain_script[] =
    "local free = redis.call('get', KEYS[1]) "
    "if free == false then return 0 end "
    "redis.call('set', KEYS[1], 0) return tonumber(free)";

static const char set_script[] =
    "if redis.call('exists', KEYS[1]) == 1 then return 0 end "
    "redis.call('set', KEYS[1], ARGV[1]) "
    "redis.call('publish', ARGV[2], ARGV[1]) return 1";

struct jsem {
    redisContext *commands, *messages;
};

static void need(bool truth, const char *what)
{
    if (truth)
        return;
    (void)fprintf(stderr, "the stand-in cannot: %s\n", what);
    abort();
}

jsem *jsem_new(const server *s)
{
    jsem *j = calloc(1, sizeof(*j));

    need(j != NULL, "memory");
    j->commands = redisConnectUnix(server_socket(s));
    j->messages = redisConnectUnix(server_socket(s));
    need(j->commands->err == 0 && j->messages->err == 0, "connect");
    return j;
}

void jsem_free(jsem *j)
{
    if (j == NULL)
        return;
    redisFree(j->commands);
    redisFree(j->messages);
    free(j);
}

static long long run(jsem *j, const char *script, long long number)
{
    redisReply *reply =
        redisCommand(j->commands, "EVAL %s 1 n %lld " CHANNEL, script, number);
    long long answer;

    need(reply != NULL && reply->type == REDIS_REPLY_INTEGER, script);
    answer = reply->integer;
    freeReplyObject(reply);
    return answer;
}

bool jsem_try(jsem *j, long long permits)
{
    return run(j, try_script, permits) == 1;
}

/* The next thing that comes on the channel; false: nothing within wait_ms. */
static bool hear(jsem *j, int wait_ms)
{
    struct pollfd p = {.fd = j->messages->fd, .events = POLLIN};
    void *reply = NULL;

    need(redisGetReplyFromReader(j->messages, &reply) == REDIS_OK, "read");
    if (reply == NULL) {
        if (poll(&p, 1, wait_ms) != 1)
            return false;
        need(redisGetReply(j->messages, &reply) == REDIS_OK, "read");
    }
    freeReplyObject(reply);
    return true;
}

static void say(jsem *j, const char *command)
{
    redisReply *reply = redisCommand(j->messages, command);

    need(reply != NULL, command);
    freeReplyObject(reply);
}

bool jsem_acquire(jsem *j, long long permits, unsigned wait_ms)
{
    uint64_t until = wait_now_ms() + wait_ms;
    bool has = jsem_try(j, permits);

    if (has)
        return true;
    say(j, "SUBSCRIBE " CHANNEL);
    while (!(has = jsem_try(j, permits)) && wait_now_ms() < until)
        (void)hear(j, (int)(until - wait_now_ms()));
    say(j, "UNSUBSCRIBE " CHANNEL);
    while (hear(j, 0)) {
    }
    return has;
}

void jsem_release(jsem *j, long long permits)
{
    (void)run(j, release_script, permits);
}

void jsem_add(jsem *j, long long permits)
{
    (void)run(j, add_script, permits);
}

long long jsem_drain(jsem *j)
{
    return run(j, drain_script, 0);
}

bool jsem_set(jsem *j, long long permits)
{
    return run(j, set_script, permits) == 1;
}
