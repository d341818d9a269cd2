/* SPDX-License-Identifier: MIT */
#include "support/latch_standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "support/check.h"
#include "support/wait.h"

struct latch_standin {
    redisContext *commands, *messages;
    char name[128], channel[192];
};

static redisContext *connect_to(const char *path)
{
    redisContext *context = redisConnectUnix(path);

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    return context;
}

latch_standin *latch_standin_new(const char *path, const char *name)
{
    latch_standin *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->commands = connect_to(path);
    s->messages = connect_to(path);
    (void)snprintf(s->name, sizeof(s->name), "%s", name);
    (void)snprintf(s->channel, sizeof(s->channel),
                   "redisson_countdownlatch__channel__{%s}", name);
    return s;
}

void latch_standin_free(latch_standin *s)
{
    redisFree(s->commands);
    redisFree(s->messages);
    free(s);
}

/* ---- operations ---------------------------------------------------------- */

static long long run(latch_standin *s, const char *script, long long number)
{
    redisReply *reply = redisCommand(s->commands, "EVAL %s 1 %s %s %lld",
                                     script, s->name, s->channel, number);
    long long answer;

    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    answer = reply->integer;
    freeReplyObject(reply);
    return answer;
}

bool latch_standin_set(latch_standin *s, long long count)
{
    return run(s,
               "if redis.call('exists', KEYS[1]) == 1 then return 0 end "
               "redis.call('set', KEYS[1], ARGV[2]) "
               "redis.call('publish', ARGV[1], '1') return 1",
               count) == 1;
}

void latch_standin_down(latch_standin *s)
{
    (void)run(s,
              "local left = redis.call('decr', KEYS[1]) "
              "if left <= 0 then redis.call('del', KEYS[1]) end "
              "if left == 0 then redis.call('publish', ARGV[1], '0') end "
              "return 1",
              0);
}

bool latch_standin_delete(latch_standin *s)
{
    return run(s,
               "if redis.call('del', KEYS[1]) == 0 then return 0 end "
               "redis.call('publish', ARGV[1], '1') return 1",
               0) == 1;
}

long long latch_standin_count(latch_standin *s)
{
    redisReply *reply = redisCommand(s->commands, "GET %s", s->name);
    long long count;

    assert_non_null(reply);
    count =
        reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : 0;
    freeReplyObject(reply);
    return count;
}

/* ---- waiting ------------------------------------------------------------- */

bool latch_standin_begins(latch_standin *s)
{
    redisReply *reply;

    if (latch_standin_count(s) == 0)
        return true;
    reply = redisCommand(s->messages, "SUBSCRIBE %s", s->channel);
    assert_non_null(reply);
    freeReplyObject(reply);
    return false;
}

/* Waits for a message; true: it was a `0`, which opens its gate. */
static bool hears_open(latch_standin *s, uint64_t ms)
{
    struct timeval limit = {.tv_sec = (long)(ms / 1000),
                            .tv_usec = (long)(ms % 1000) * 1000};
    void *got = NULL;
    redisReply *reply;
    bool open;

    assert_int_equal(redisSetTimeout(s->messages, limit), REDIS_OK);
    if (redisGetReply(s->messages, &got) != REDIS_OK) {
        /* Nothing came: the connection is as good as before. */
        s->messages->err = 0;
        return false;
    }
    reply = got;
    open = strcmp(reply->element[2]->str, "0") == 0;
    freeReplyObject(reply);
    return open;
}

bool latch_standin_waits(latch_standin *s, unsigned wait_ms)
{
    uint64_t end = wait_now_ms() + wait_scaled_ms(wait_ms);

    while (latch_standin_count(s) > 0) {
        bool open = false;

        while (!open) {
            uint64_t now = wait_now_ms();

            if (now >= end)
                return false;
            open = hears_open(s, end - now);
        }
    }
    return true;
}
