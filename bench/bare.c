/* SPDX-License-Identifier: MIT */
#include "bare.h"

#include <err.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bare_scripts.h"
#include "measure.h"
#include "server.h"

enum { EIGHT = 8, RETRY_NS = 1000000, WRITES = 20 };

struct bare {
    bare_kind kind;
    unsigned index, count;
    redisContext *redis;
    redisContext *ear; /* for messages; NULL: it needs none */
    unsigned unread;   /* answers of redis that nobody waited for */
    uint64_t commands;
    char owner[64];
    bool has_begun;
    unsigned turn; /* which cycles write */
};

/* ---- commands ------------------------------------------------------------------- */

static redisReply *answer(redisContext *redis)
{
    void *reply = NULL;

    if (redisGetReply(redis, &reply) != REDIS_OK)
        errx(1, "the server: %s", redis->errstr);
    if (((redisReply *)reply)->type == REDIS_REPLY_ERROR)
        errx(1, "the server: %s", ((redisReply *)reply)->str);
    return reply;
}

/* Free the answer. */
__attribute__((format(printf, 2, 3))) static redisReply *
ask(bare *b, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (redisvAppendCommand(b->redis, format, args) != REDIS_OK)
        errx(1, "out of memory");
    va_end(args);
    b->commands++;
    for (; b->unread > 0; b->unread--)
        freeReplyObject(answer(b->redis));
    return answer(b->redis);
}

__attribute__((format(printf, 2, 3))) static void
tell(bare *b, const char *format, ...)
{
    va_list args;
    int done = 0;

    va_start(args, format);
    if (redisvAppendCommand(b->redis, format, args) != REDIS_OK)
        errx(1, "out of memory");
    va_end(args);
    b->commands++;
    b->unread++;
    while (!done)
        if (redisBufferWrite(b->redis, &done) != REDIS_OK)
            errx(1, "the server: %s", b->redis->errstr);
}

/* The integer of an answer; nil: -9. */
static long long number(redisReply *reply)
{
    long long n = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -9;

    freeReplyObject(reply);
    return n;
}

/* ---- tokens and rings -------------------------------------------------------------- */

static void tokens_once(bare *b)
{
    freeReplyObject(ask(b, "BLPOP tokens 0"));
    freeReplyObject(ask(b, "LPUSH tokens x"));
}

/* The first of the processes that come puts them there. */
static void tokens_open(bare *b, unsigned tokens)
{
    if (number(ask(b, "SETNX tokens-are-there 1")) == 0)
        return;
    for (unsigned i = 0; i < tokens; i++)
        freeReplyObject(ask(b, "LPUSH tokens x"));
}

/* The first one sends before it has got anything. */
static void ring_once(bare *b)
{
    if (b->index != 0 || b->has_begun)
        freeReplyObject(answer(b->ear));
    b->has_begun = true;
    while (number(ask(b, "PUBLISH ring%u x", (b->index + 1) % b->count)) == 0)
        sleep_ns(RETRY_NS);
}

/* ---- Redisson's locks ------------------------------------------------------------ */

typedef struct road {
    const char *acquire, *release, *channel;
    const char *suffix; /* of the owner */
} road;

static long long try_once(bare *b, const road *r)
{
    return number(ask(b,
                      "EVALSHA %s 2 orders {orders}:%s:rwlock_timeout 30000 "
                      "%s%s %s:write",
                      r->acquire, b->owner, b->owner, r->suffix, b->owner));
}

/* Until a message comes, or as long as the lock can be held. */
static void hear(bare *b, long long ms)
{
    struct pollfd set = {.fd = b->ear->fd, .events = POLLIN};
    void *reply = NULL;

    if (redisGetReplyFromReader(b->ear, &reply) != REDIS_OK)
        errx(1, "the subscription broke");
    if (reply == NULL) {
        if (poll(&set, 1, (int)ms) <= 0)
            return;
        reply = answer(b->ear);
    }
    freeReplyObject(reply);
}

static void subscribe(bare *b, const char *how, const char *channel)
{
    redisReply *reply;
    bool is_answer;

    if (redisAppendCommand(b->ear, "%s %s", how, channel) != REDIS_OK)
        errx(1, "out of memory");
    b->commands++;
    do {
        reply = answer(b->ear);
        is_answer = strcmp(reply->element[0]->str, "message") != 0;
        freeReplyObject(reply);
    } while (!is_answer);
}

static void redisson_take(bare *b, const road *r)
{
    long long left = try_once(b, r);

    if (left == -9)
        return;
    subscribe(b, "SUBSCRIBE", r->channel);
    while ((left = try_once(b, r)) != -9)
        hear(b, left);
    subscribe(b, "UNSUBSCRIBE", r->channel);
}

static void redisson_once(bare *b, const road *r)
{
    redisson_take(b, r);
    if (number(ask(b,
                   "EVALSHA %s 4 orders %s {orders}:%s:rwlock_timeout "
                   "redisson_unlock_latch:{orders}:%s 30000 %s%s 16000 "
                   "{orders}",
                   r->release, r->channel, b->owner, b->owner, b->owner,
                   r->suffix)) != 1)
        errx(1, "it did not hold");
    tell(b, "DEL redisson_unlock_latch:{orders}:%s", b->owner);
}

static void lock_once(bare *b)
{
    static const char channel[] = "redisson_lock__channel:{orders}";
    const road r = {script_sha(SCRIPT_LOCK), script_sha(SCRIPT_UNLOCK), channel,
                    ""};

    redisson_once(b, &r);
}

static void mix_once(bare *b)
{
    static const char channel[] = "redisson_rwlock:{orders}";
    const road read = {script_sha(SCRIPT_READ), script_sha(SCRIPT_UNREAD),
                       channel, ""};
    const road write = {script_sha(SCRIPT_WRITE), script_sha(SCRIPT_UNWRITE),
                        channel, ":write"};

    redisson_once(b, b->turn++ % WRITES == 0 ? &write : &read);
}

static void hash_once(bare *b)
{
    if (number(ask(b, "EVALSHA %s 1 orders 30000 %s", script_sha(SCRIPT_HASH),
                   b->owner)) != -9 ||
        number(ask(b,
                   "EVALSHA %s 2 orders redisson_lock__channel:{orders} 30000 "
                   "%s",
                   script_sha(SCRIPT_UNHASH), b->owner)) != 1)
        errx(1, "somebody else wants it");
}

/* ---- all of them --------------------------------------------------------------- */

bare *bare_open(bare_kind kind, unsigned index, unsigned count)
{
    bare *b = memory_new(1, sizeof(*b));

    b->kind = kind;
    b->index = index;
    b->count = count;
    b->turn = index * 7;
    b->redis = server_connect();
    (void)snprintf(b->owner, sizeof(b->owner),
                   "285475da-9152-4c83-822a-67ee2f11%04x:1",
                   (unsigned)getpid() & 0xffffU);
    if (kind == BARE_RING || kind == BARE_REDISSON || kind == BARE_MIX)
        b->ear = server_connect();
    if (kind == BARE_RING) {
        server_do(b->ear, "SUBSCRIBE ring%u", index);
    } else if (kind == BARE_LIST || kind == BARE_EIGHT) {
        tokens_open(b, kind == BARE_LIST ? 1 : EIGHT);
    } else {
        scripts_load(b->redis);
    }
    return b;
}

void bare_close(bare *b)
{
    redisFree(b->redis);
    if (b->ear != NULL)
        redisFree(b->ear);
    free(b);
}

void bare_once(bare *b)
{
    switch (b->kind) {
    case BARE_HASH:
        hash_once(b);
        return;
    case BARE_LIST:
    case BARE_EIGHT:
        tokens_once(b);
        return;
    case BARE_RING:
        ring_once(b);
        return;
    case BARE_REDISSON:
        lock_once(b);
        return;
    case BARE_MIX:
        mix_once(b);
        return;
    }
}

uint64_t bare_commands(const bare *b)
{
    return b->commands;
}
