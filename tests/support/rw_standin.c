/* SPDX-License-Identifier: MIT */
#include "support/rw_standin.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <hiredis/hiredis.h>

#include "support/check.h"
#include "support/wait.h"

enum {
    ANSWER_MS = 10000, /* scaled */
    NAME_SIZE = 128,
    KEY_SIZE = NAME_SIZE + 96,
    LEASE_MS = 30000,
    HOLDS = 64, /* one reader may have at once */
    THREAD = 41
};

struct rw_standin {
    rw_standin *next; /* of this process */
    char path[108];
    char uuid[37];
    char owner[64];
    char name[NAME_SIZE];
    char prefix[KEY_SIZE]; /* of the timeout keys */
    char channel[KEY_SIZE];
    redisContext *commands, *messages; /* messages: NULL before the first */
    long long lease_ms;
};

static rw_standin *all;

/* ---- what Redisson's scripts do ---- */

/* KEYS name; ARGV lease, reader, writer, prefix. Answers nil or a TTL. */
static const char read_script[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')\n"
    "local own = mode == 'write'\n"
    "    and redis.call('HEXISTS', KEYS[1], ARGV[3]) == 1\n"
    "if mode and mode ~= 'read' and not own then\n"
    "    return redis.call('PTTL', KEYS[1])\n"
    "end\n"
    "if not mode then redis.call('HSET', KEYS[1], 'mode', 'read') end\n"
    "local i = redis.call('HINCRBY', KEYS[1], ARGV[2], 1)\n"
    "local key = ARGV[4] .. ARGV[2] .. ':rwlock_timeout:' .. i\n"
    "redis.call('SET', key, 1)\n"
    "redis.call('PEXPIRE', key, ARGV[1])\n"
    "local left = redis.call('PTTL', KEYS[1])\n"
    "redis.call('PEXPIRE', KEYS[1], math.max(left, tonumber(ARGV[1])))\n"
    "return false\n";

/* KEYS name; ARGV lease, writer. Answers nil or a TTL. */
static const char write_script[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')\n"
    "local left = redis.call('PTTL', KEYS[1])\n"
    "if not mode then\n"
    "    redis.call('HSET', KEYS[1], 'mode', 'write', ARGV[2], 1)\n"
    "    redis.call('PEXPIRE', KEYS[1], ARGV[1])\n"
    "    return false\n"
    "elseif mode == 'write'\n"
    "        and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then\n"
    "    redis.call('HINCRBY', KEYS[1], ARGV[2], 1)\n"
    "    redis.call('PEXPIRE', KEYS[1], left + tonumber(ARGV[1]))\n"
    "    return false\n"
    "end\n"
    "return left\n";

/* KEYS name, channel; ARGV reader, prefix. Answers 1, 0 or nil. */
static const char unread_script[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')\n"
    "if not mode then redis.call('PUBLISH', KEYS[2], 0) return false end\n"
    "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return false end\n"
    "local count = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)\n"
    "if count == 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end\n"
    "redis.call('DEL', ARGV[2] .. ARGV[1] .. ':rwlock_timeout:'\n"
    "    .. (count + 1))\n"
    "if redis.call('HLEN', KEYS[1]) > 1 then\n"
    "    local longest = -3\n"
    "    for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do\n"
    "        local holds = tonumber(redis.call('HGET', KEYS[1], field))\n"
    "        for i = holds or 0, 1, -1 do\n"
    "            longest = math.max(longest, redis.call('PTTL', ARGV[2]\n"
    "                .. field .. ':rwlock_timeout:' .. i))\n"
    "        end\n"
    "    end\n"
    "    if longest > 0 then\n"
    "        redis.call('PEXPIRE', KEYS[1], longest)\n"
    "        return 0\n"
    "    elseif mode == 'write' then\n"
    "        return 0\n"
    "    end\n"
    "end\n"
    "redis.call('DEL', KEYS[1])\n"
    "redis.call('PUBLISH', KEYS[2], 0)\n"
    "return 1\n";

/* KEYS name, channel; ARGV writer, lease. Answers 1, 0 or nil. */
static const char unwrite_script[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')\n"
    "if not mode then redis.call('PUBLISH', KEYS[2], 1) return false end\n"
    "if mode ~= 'write'\n"
    "        or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then\n"
    "    return false\n"
    "end\n"
    "if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then\n"
    "    redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"
    "    return 0\n"
    "end\n"
    "redis.call('HDEL', KEYS[1], ARGV[1])\n"
    "if redis.call('HLEN', KEYS[1]) == 1 then\n"
    "    redis.call('DEL', KEYS[1])\n"
    "    redis.call('PUBLISH', KEYS[2], 1)\n"
    "else\n"
    "    redis.call('HSET', KEYS[1], 'mode', 'read')\n"
    "end\n"
    "return 1\n";

/* KEYS name; ARGV lease, field, prefix or empty. Answers 1 or 0. */
static const char renew_script[] =
    "local holds = redis.call('HGET', KEYS[1], ARGV[2])\n"
    "if not holds then return 0 end\n"
    "for i = tonumber(holds), 1, -1 do\n"
    "    if ARGV[3] ~= '' then\n"
    "        redis.call('PEXPIRE', ARGV[3] .. ARGV[2] .. ':rwlock_timeout:'\n"
    "            .. i, ARGV[1])\n"
    "    end\n"
    "end\n"
    "redis.call('PEXPIRE', KEYS[1], ARGV[1])\n"
    "return 1\n";

/* KEYS name, channel; ARGV mode, message. Answers 1 or 0. */
static const char force_script[] =
    "if redis.call('HGET', KEYS[1], 'mode') ~= ARGV[1] then return 0 end\n"
    "redis.call('DEL', KEYS[1])\n"
    "redis.call('PUBLISH', KEYS[2], ARGV[2])\n"
    "return 1\n";

/* ---- connections ---- */

static _Noreturn void broken(const char *what, const char *why)
{
    fail_msg("stand-in: %s: %s", what, why);
    abort(); /* fail_msg() does not return, which its header does not say */
}

static redisContext *dial(const char *path)
{
    unsigned ms = wait_scaled_ms(ANSWER_MS);
    struct timeval limit = {.tv_sec = ms / 1000,
                            .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    redisContext *context = redisConnectUnixWithTimeout(path, limit);

    if (context == NULL || context->err != 0 ||
        redisSetTimeout(context, limit) != REDIS_OK)
        broken(path, context != NULL ? context->errstr : "no memory");
    return context;
}

/* An integer, or the one given for nil. */
static long long ask(rw_standin *s, long long nil, const char *format, ...)
{
    va_list args;
    redisReply *reply;
    long long integer = nil;

    va_start(args, format);
    reply = redisvCommand(s->commands, format, args);
    va_end(args);
    if (reply == NULL)
        broken(format, s->commands->errstr);
    if (reply->type == REDIS_REPLY_INTEGER)
        integer = reply->integer;
    else if (reply->type != REDIS_REPLY_NIL)
        broken(format, reply->str != NULL ? reply->str : "no integer");
    freeReplyObject(reply);
    return integer;
}

/* ---- life ---- */

static void uuid_make(rw_standin *s)
{
    FILE *file = fopen("/proc/sys/kernel/random/uuid", "re");

    if (file == NULL || fgets(s->uuid, sizeof(s->uuid), file) == NULL)
        broken("uuid", "none to be had");
    (void)fclose(file);
}

rw_standin *rw_standin_new(const char *path, const char *name)
{
    rw_standin *s = calloc(1, sizeof(*s));
    bool is_tagged = strchr(name, '{') != NULL;

    if (s == NULL)
        broken(name, "no memory");
    s->next = all;
    all = s;
    s->lease_ms = LEASE_MS;
    uuid_make(s);
    (void)snprintf(s->owner, sizeof(s->owner), "%s:%d", s->uuid, THREAD);
    (void)snprintf(s->path, sizeof(s->path), "%s", path);
    (void)snprintf(s->name, sizeof(s->name), "%s", name);
    (void)snprintf(s->prefix, sizeof(s->prefix),
                   is_tagged ? "%s:" : "{%s}:", name);
    (void)snprintf(s->channel, sizeof(s->channel),
                   is_tagged ? "redisson_rwlock:%s" : "redisson_rwlock:{%s}",
                   name);
    s->commands = dial(path);
    return s;
}

void rw_standin_free(rw_standin *s)
{
    rw_standin **at = &all;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    redisFree(s->commands);
    if (s->messages != NULL)
        redisFree(s->messages);
    free(s);
}

void rw_standins_free(void)
{
    while (all != NULL)
        rw_standin_free(all);
}

const char *rw_standin_owner(const rw_standin *s)
{
    return s->owner;
}

void rw_standin_set_lease(rw_standin *s, long long lease_ms)
{
    s->lease_ms = lease_ms;
}

/* ---- the scripts ---- */

static void writer_of(const rw_standin *s, char ret_field[80])
{
    (void)snprintf(ret_field, 80, "%s:write", s->owner);
}

long long rw_standin_acquire(rw_standin *s, rw_standin_side side)
{
    char writer[80];

    writer_of(s, writer);
    if (side == RW_STANDIN_WRITE)
        return ask(s, RW_STANDIN_HAS_IT, "EVAL %s 1 %s %lld %s", write_script,
                   s->name, s->lease_ms, writer);
    return ask(s, RW_STANDIN_HAS_IT, "EVAL %s 1 %s %lld %s %s %s", read_script,
               s->name, s->lease_ms, s->owner, writer, s->prefix);
}

bool rw_standin_try(rw_standin *s, rw_standin_side side)
{
    return rw_standin_acquire(s, side) == RW_STANDIN_HAS_IT;
}

int rw_standin_unlock(rw_standin *s, rw_standin_side side)
{
    char writer[80];

    writer_of(s, writer);
    if (side == RW_STANDIN_WRITE)
        return (int)ask(s, -1, "EVAL %s 2 %s %s %s %lld", unwrite_script,
                        s->name, s->channel, writer, s->lease_ms);
    return (int)ask(s, -1, "EVAL %s 2 %s %s %s %s", unread_script, s->name,
                    s->channel, s->owner, s->prefix);
}

bool rw_standin_force(rw_standin *s, rw_standin_side side)
{
    bool writes = side == RW_STANDIN_WRITE;

    return ask(s, 0, "EVAL %s 2 %s %s %s %d", force_script, s->name, s->channel,
               writes ? "write" : "read", writes ? 1 : 0) == 1;
}

bool rw_standin_renew(rw_standin *s, rw_standin_side side)
{
    char writer[80];

    writer_of(s, writer);
    if (side == RW_STANDIN_WRITE)
        return ask(s, 0, "EVAL %s 1 %s %lld %s %s", renew_script, s->name,
                   s->lease_ms, writer, "") == 1;
    return ask(s, 0, "EVAL %s 1 %s %lld %s %s", renew_script, s->name,
               s->lease_ms, s->owner, s->prefix) == 1;
}

/* ---- waiting ---- */

static redisReply *message_get(rw_standin *s)
{
    void *reply = NULL;

    if (redisGetReply(s->messages, &reply) != REDIS_OK)
        broken("messages", s->messages->errstr);
    return reply;
}

void rw_standin_subscribe(rw_standin *s)
{
    if (s->messages != NULL)
        return;
    s->messages = dial(s->path);
    if (redisAppendCommand(s->messages, "SUBSCRIBE %s", s->channel) != REDIS_OK)
        broken("SUBSCRIBE", s->messages->errstr);
    freeReplyObject(message_get(s));
}

int rw_standin_hears(rw_standin *s, unsigned wait_ms)
{
    struct pollfd ear = {.fd = s->messages->fd, .events = POLLIN};
    void *reply = NULL;
    int message;

    if (redisGetReplyFromReader(s->messages, &reply) != REDIS_OK)
        broken("messages", s->messages->errstr);
    if (reply == NULL && poll(&ear, 1, (int)wait_scaled_ms(wait_ms)) <= 0)
        return -1;
    if (reply == NULL)
        reply = message_get(s);
    message = (int)strtol(((redisReply *)reply)->element[2]->str, NULL, 10);
    freeReplyObject(reply);
    return message;
}

static void unsubscribe(rw_standin *s)
{
    redisFree(s->messages);
    s->messages = NULL;
}

bool rw_standin_lock(rw_standin *s, rw_standin_side side, long long wait_ms)
{
    uint64_t until = wait_now_ms() + (wait_ms < 0 ? 0 : (uint64_t)wait_ms);
    bool has_it = rw_standin_try(s, side);

    if (has_it)
        return true;
    rw_standin_subscribe(s);
    for (;;) {
        long long left = rw_standin_acquire(s, side);
        uint64_t now = wait_now_ms();
        struct pollfd ear = {.fd = s->messages->fd, .events = POLLIN};

        has_it = left == RW_STANDIN_HAS_IT;
        if (has_it || (wait_ms >= 0 && now >= until))
            break;
        if (left < 0 || left > LEASE_MS)
            left = LEASE_MS;
        if (wait_ms >= 0 && until - now < (uint64_t)left)
            left = (long long)(until - now);
        if (poll(&ear, 1, (int)left) > 0)
            (void)rw_standin_hears(s, 0);
    }
    unsubscribe(s);
    return has_it;
}
