/* SPDX-License-Identifier: MIT */
#include "support/redisson.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "support/check.h"
#include "support/wait.h"

enum { NAME_SIZE = 128, KEY_SIZE = NAME_SIZE + 96, LEASE_MS = 30000 };

struct redisson {
    redisson *next; /* of the running test */
    char path[128], name[NAME_SIZE], owner[64], writer[80];
    char token[KEY_SIZE], prefix[KEY_SIZE];
    redisContext *commands, *messages; /* messages: NULL before the first */
    long long lease_ms;
};

static redisson *all;

/* ---- the calls ---- */

typedef enum step {
    ACQUIRE, /* answers nil or a TTL */
    UNLOCK,  /* 1, 0 or nil, as force and renew */
    FORCE,
    RENEW,
    STEPS
} step;

/*
 * All have KEYS name, channel, token; ARGV lease, owner, writer, and what the names of
 * the readers' timeout keys begin with.
 */
#define ENTER(count)                                                           \
    "if redis.call('EXISTS', KEYS[1]) == 1\n"                                  \
    "        and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then\n"          \
    "    return redis.call('PTTL', KEYS[1])\n"                                 \
    "end\n" count "redis.call('HINCRBY', KEYS[1], ARGV[2], 1)\n"               \
    "redis.call('PEXPIRE', KEYS[1], ARGV[1])\n"                                \
    "return false\n"

#define READ_KEY(field) "ARGV[4] .. " field " .. ':rwlock_timeout:' .. "

static const char unlock[] =
    "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return false end\n"
    "if redis.call('HINCRBY', KEYS[1], ARGV[2], -1) > 0 then\n"
    "    redis.call('PEXPIRE', KEYS[1], ARGV[1])\n"
    "    return 0\n"
    "end\n"
    "redis.call('DEL', KEYS[1])\n"
    "redis.call('PUBLISH', KEYS[2], 0)\n"
    "return 1\n";

static const char force[] =
    "if redis.call('DEL', KEYS[1]) == 0 then return 0 end\n"
    "redis.call('PUBLISH', KEYS[2], 0)\n"
    "return 1\n";

static const char renew[] =
    "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end\n"
    "return redis.call('PEXPIRE', KEYS[1], ARGV[1])\n";

static const char read_acquire[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')\n"
    "if mode == 'write'\n"
    "        and redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then\n"
    "    return redis.call('PTTL', KEYS[1])\n"
    "end\n"
    "if not mode then redis.call('HSET', KEYS[1], 'mode', 'read') end\n"
    "local i = redis.call('HINCRBY', KEYS[1], ARGV[2], 1)\n"
    "redis.call('SET', " READ_KEY(
        "ARGV[2]") "i, 1, 'PX', ARGV[1])\n"
                   "local left = redis.call('PTTL', KEYS[1])\n"
                   "redis.call('PEXPIRE', KEYS[1], math.max(left, "
                   "tonumber(ARGV[1])))\n"
                   "return false\n";

static const char read_unlock[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')\n"
    "if not mode then redis.call('PUBLISH', KEYS[2], 0) return false end\n"
    "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return false end\n"
    "local count = redis.call('HINCRBY', KEYS[1], ARGV[2], -1)\n"
    "if count == 0 then redis.call('HDEL', KEYS[1], ARGV[2]) end\n"
    "redis.call('DEL', " READ_KEY(
        "ARGV[2]") "(count + 1))\n"
                   "local longest = -3\n"
                   "for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do\n"
                   "    local holds = tonumber(redis.call('HGET', KEYS[1], "
                   "field))\n"
                   "    for i = holds or 0, 1, -1 do\n"
                   "        longest = math.max(longest,\n"
                   "            redis.call('PTTL', " READ_KEY(
                       "field") "i))\n"
                                "    end\n"
                                "end\n"
                                "if longest > 0 then redis.call('PEXPIRE', "
                                "KEYS[1], longest) end\n"
                                "if longest > 0 or mode == 'write' then return "
                                "0 end\n"
                                "redis.call('DEL', KEYS[1])\n"
                                "redis.call('PUBLISH', KEYS[2], 0)\n"
                                "return 1\n";

static const char read_force[] =
    "if redis.call('HGET', KEYS[1], 'mode') ~= 'read' then return 0 end\n"
    "redis.call('DEL', KEYS[1])\n"
    "redis.call('PUBLISH', KEYS[2], 0)\n"
    "return 1\n";

static const char read_renew[] =
    "local holds = redis.call('HGET', KEYS[1], ARGV[2])\n"
    "if not holds then return 0 end\n"
    "for i = tonumber(holds), 1, -1 do\n"
    "    redis.call('PEXPIRE', " READ_KEY(
        "ARGV[2]") "i, ARGV[1])\n"
                   "end\n"
                   "redis.call('PEXPIRE', KEYS[1], ARGV[1])\n"
                   "return 1\n";

static const char write_acquire[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')\n"
    "local left = redis.call('PTTL', KEYS[1])\n"
    "if mode and redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then\n"
    "    return left\n"
    "end\n"
    "redis.call('HSET', KEYS[1], 'mode', 'write')\n"
    "redis.call('HINCRBY', KEYS[1], ARGV[3], 1)\n"
    "redis.call('PEXPIRE', KEYS[1], math.max(left, 0) + ARGV[1])\n"
    "return false\n";

static const char write_unlock[] =
    "local mode = redis.call('HGET', KEYS[1], 'mode')\n"
    "if not mode then redis.call('PUBLISH', KEYS[2], 1) return false end\n"
    "if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return false end\n"
    "if redis.call('HINCRBY', KEYS[1], ARGV[3], -1) > 0 then\n"
    "    redis.call('PEXPIRE', KEYS[1], ARGV[1])\n"
    "    return 0\n"
    "end\n"
    "redis.call('HDEL', KEYS[1], ARGV[3])\n"
    "if redis.call('HLEN', KEYS[1]) == 1 then\n"
    "    redis.call('DEL', KEYS[1])\n"
    "    redis.call('PUBLISH', KEYS[2], 1)\n"
    "else\n"
    "    redis.call('HSET', KEYS[1], 'mode', 'read')\n"
    "end\n"
    "return 1\n";

static const char write_force[] =
    "if redis.call('HGET', KEYS[1], 'mode') ~= 'write' then return 0 end\n"
    "redis.call('DEL', KEYS[1])\n"
    "redis.call('PUBLISH', KEYS[2], 1)\n"
    "return 1\n";

static const char write_renew[] =
    "if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return 0 end\n"
    "return redis.call('PEXPIRE', KEYS[1], ARGV[1])\n";

static const char *const scripts[][STEPS] = {
    [REDISSON_LOCK] = {ENTER(""), unlock, force, renew},
    [REDISSON_FENCED] = {ENTER("redis.call('INCR', KEYS[3])\n"), unlock, force,
                         renew},
    [REDISSON_READ] = {read_acquire, read_unlock, read_force, read_renew},
    [REDISSON_WRITE] = {write_acquire, write_unlock, write_force, write_renew},
};

/* Redisson's rule for the companions of a name. */
static void companion(char ret_key[KEY_SIZE], const char *begin,
                      const char *name, const char *end)
{
    bool is_tagged = strchr(name, '{') != NULL;

    (void)snprintf(ret_key, KEY_SIZE, is_tagged ? "%s%s%s" : "%s{%s}%s", begin,
                   name, end);
}

static void
channel_of(const redisson *r, redisson_side side, char ret_key[KEY_SIZE])
{
    companion(ret_key,
              side >= REDISSON_READ ? "redisson_rwlock:"
                                    : "redisson_lock__channel:",
              r->name, "");
}

/* An integer, or the one given for nil. Frees the reply. */
static long long take_integer(redisReply *reply, long long nil)
{
    long long integer = nil;

    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_INTEGER)
        integer = reply->integer;
    else
        assert_int_equal(reply->type, REDIS_REPLY_NIL);
    freeReplyObject(reply);
    return integer;
}

static long long ask(redisson *r, redisson_side side, step what, long long nil)
{
    char channel[KEY_SIZE];

    channel_of(r, side, channel);
    return take_integer(redisCommand(r->commands,
                                     "EVAL %s 3 %s %s %s %lld %s %s %s",
                                     scripts[side][what], r->name, channel,
                                     r->token, r->lease_ms, r->owner, r->writer,
                                     r->prefix),
                        nil);
}

long long redisson_acquire(redisson *r, redisson_side side)
{
    return ask(r, side, ACQUIRE, REDISSON_HAS_IT);
}

bool redisson_try(redisson *r, redisson_side side)
{
    return redisson_acquire(r, side) == REDISSON_HAS_IT;
}

int redisson_unlock(redisson *r, redisson_side side)
{
    return (int)ask(r, side, UNLOCK, -1);
}

bool redisson_force(redisson *r, redisson_side side)
{
    return ask(r, side, FORCE, 0) == 1;
}

bool redisson_renew(redisson *r, redisson_side side)
{
    return ask(r, side, RENEW, 0) == 1;
}

long long redisson_token(redisson *r)
{
    return take_integer(redisCommand(r->commands, "INCRBY %s 0", r->token), 0);
}

/* ---- messages ---- */

static redisContext *dial(const char *path)
{
    redisContext *context = redisConnectUnix(path);

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    return context;
}

void redisson_subscribe(redisson *r, redisson_side side)
{
    char channel[KEY_SIZE];
    redisReply *reply;

    channel_of(r, side, channel);
    r->messages = dial(r->path);
    reply = redisCommand(r->messages, "SUBSCRIBE %s", channel);
    assert_non_null(reply);
    freeReplyObject(reply);
}

int redisson_hears(redisson *r, unsigned wait_ms)
{
    struct pollfd ear = {.fd = r->messages->fd, .events = POLLIN};
    void *reply = NULL;
    int message;

    assert_int_equal(redisGetReplyFromReader(r->messages, &reply), REDIS_OK);
    if (reply == NULL && poll(&ear, 1, (int)wait_scaled_ms(wait_ms)) <= 0)
        return -1;
    if (reply == NULL)
        assert_int_equal(redisGetReply(r->messages, &reply), REDIS_OK);
    message = (int)strtol(((redisReply *)reply)->element[2]->str, NULL, 10);
    freeReplyObject(reply);
    return message;
}

/* ---- life ---- */

redisson *redisson_new(const server *s, const char *name)
{
    static unsigned count;
    redisson *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    r->next = all;
    all = r;
    r->lease_ms = LEASE_MS;
    (void)snprintf(r->path, sizeof(r->path), "%s", server_socket(s));
    (void)snprintf(r->name, sizeof(r->name), "%s", name);
    (void)snprintf(r->owner, sizeof(r->owner),
                   "0c5a8e0e-7d1b-4a43-9f62-%012x:41", ++count);
    (void)snprintf(r->writer, sizeof(r->writer), "%s:write", r->owner);
    companion(r->token, "redisson_lock_token:", name, "");
    companion(r->prefix, "", name, ":");
    r->commands = dial(r->path);
    return r;
}

void redissons_free(void)
{
    redisson *r;

    while ((r = all) != NULL) {
        all = r->next;
        redisFree(r->commands);
        if (r->messages != NULL)
            redisFree(r->messages);
        free(r);
    }
}

const char *redisson_owner(const redisson *r)
{
    return r->owner;
}

void redisson_set_lease(redisson *r, long long lease_ms)
{
    r->lease_ms = lease_ms;
}
