/* SPDX-License-Identifier: MIT */
#include "support/pylock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/wait.h"

#define TELL                                                                   \
    "redis.call('del', KEYS[2]) redis.call('lpush', KEYS[2], 1) "              \
    "redis.call('pexpire', KEYS[2], 1000) redis.call('del', KEYS[1]) "

static const char release_script[] =
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 1 end " TELL
    "return 0";

static const char extend_script[] =
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 1 end "
    "if redis.call('ttl', KEYS[1]) < 0 then return 2 end "
    "redis.call('expire', KEYS[1], ARGV[2]) return 0";

static const char reset_script[] = TELL "return 0";

struct pylock {
    redisContext *commands, *pops;
    const char *id;
    char lock[128], signal[128];
    int expire_s;
};

static void need(bool truth, const char *what)
{
    if (truth)
        return;
    (void)fprintf(stderr, "the stand-in cannot: %s\n", what);
    abort();
}

pylock *
pylock_new(const server *s, const char *name, const char *id, int expire_s)
{
    pylock *p = calloc(1, sizeof(*p));

    need(p != NULL, "memory");
    p->commands = redisConnectUnix(server_socket(s));
    p->pops = redisConnectUnix(server_socket(s));
    need(p->commands->err == 0 && p->pops->err == 0, "connect");
    p->id = id;
    p->expire_s = expire_s;
    (void)snprintf(p->lock, sizeof(p->lock), "lock:%s", name);
    (void)snprintf(p->signal, sizeof(p->signal), "lock-signal:%s", name);
    return p;
}

void pylock_free(pylock *p)
{
    if (p == NULL)
        return;
    redisFree(p->commands);
    redisFree(p->pops);
    free(p);
}

bool pylock_try(pylock *p)
{
    redisReply *reply =
        p->expire_s > 0
            ? redisCommand(p->commands, "SET %s %s NX EX %d", p->lock, p->id,
                           p->expire_s)
            : redisCommand(p->commands, "SET %s %s NX", p->lock, p->id);
    bool has;

    need(reply != NULL && reply->type != REDIS_REPLY_ERROR, "SET");
    has = reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return has;
}

void pylock_listen(pylock *p)
{
    int done = 0;

    need(redisAppendCommand(p->pops, "BLPOP %s 0", p->signal) == REDIS_OK,
         "BLPOP");
    while (done == 0)
        need(redisBufferWrite(p->pops, &done) == REDIS_OK, "BLPOP");
}

bool pylock_heard(pylock *p, unsigned ms)
{
    struct pollfd poll_fd = {.fd = p->pops->fd, .events = POLLIN};
    redisReply *reply = NULL;

    if (poll(&poll_fd, 1, (int)wait_scaled_ms(ms)) <= 0)
        return false;
    need(redisGetReply(p->pops, (void **)&reply) == REDIS_OK, "a reply");
    need(reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
             strcmp(reply->element[0]->str, p->signal) == 0,
         "the signal");
    freeReplyObject(reply);
    return true;
}

static int run(pylock *p, const char *script, int number)
{
    redisReply *reply = redisCommand(p->commands, "EVAL %s 2 %s %s %s %d",
                                     script, p->lock, p->signal, p->id, number);
    int answer;

    need(reply != NULL && reply->type == REDIS_REPLY_INTEGER, script);
    answer = (int)reply->integer;
    freeReplyObject(reply);
    return answer;
}

bool pylock_release(pylock *p)
{
    return run(p, release_script, 0) == 0;
}

int pylock_extend(pylock *p, int expire_s)
{
    return run(p, extend_script, expire_s);
}

void pylock_reset(pylock *p)
{
    (void)run(p, reset_script, 0);
}
