/* SPDX-License-Identifier: MIT */
#include "support/odd.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

#define BAD_TYPE  "one of its keys is of another type"
#define BAD_PLACE "the name is in use by a release with another layout of keys"
#define BAD_REPLY "the server's reply is not understood"

/* n: the name. Of two waiters the first is Latchkey's, the second Redisson's. */
static const char words[] =
    "local n, at = ARGV[1], redis.call('TIME')"
    " local us = string.format('%.0f', at[1] * 1000000 + at[2])"
    " local ms = string.format('%.0f', at[1] * 1000)"
    " local H = '01234567-89ab-4def-8123-456789abcdef:1'"
    " local own = ' 0123456789abcdef l 1 30000 - p why'"
    " local function own_key(letter)"
    "   return 'latchkey:{' .. n .. '}:' .. letter end"
    " local function hash(...) redis.call('HSET', n, ...) end"
    " local function key(k, text) redis.call('SET', k, text) end"
    " local function waits()"
    "   redis.call('ZADD', own_key('q'),"
    "     string.format('%.0f', math.floor(us / 16)),"
    "     '11234567-89ab-4def-8123-456789abcdef:1' .. own) end"
    " local function fair(k)"
    "   hash(H, 1) redis.call('RPUSH', 'redisson_lock_queue:' .. k, H) end"
    " local function record(layout, fence)"
    "   key(own_key('r'), layout .. ' ' .. (fence or us) .. ' 0 0 - - - '"
    "     .. ms .. ' ' .. H .. own) end"
    " local function of(layout) record(layout) waits() end ";

const odd odd_names[] = {
    {"open{", "the name has a '{' with no '}' after it", "fair(n)"},
    {"close}", "the name has a '}' but no '{'", "fair('{' .. n .. '}')"},
    {"{}empty", "the first {} in the name is empty", "fair(n)"},
    {"queue-text", BAD_TYPE, "fair('{' .. n .. '}') key(own_key('q'), 'x')"},
    {"record-list", BAD_TYPE,
     "fair('{' .. n .. '}') redis.call('RPUSH', own_key('r'), 'x')"},
    {"record-short", BAD_PLACE,
     "hash(H, 1) waits() key(own_key('r'), '2l 99999999999999999999 x y z')"},
    {"record-long", BAD_PLACE,
     "hash(H, 1) waits() key(own_key('r'), string.rep('x', 1000000))"},
    {"layout", BAD_PLACE, "hash(H, 1) of('3l')"},
    {"fence", BAD_REPLY,
     "hash(H, 1) waits() record('2l', '99999999999999999999')"},
    {"count", BAD_REPLY, "hash(H, string.rep('9', 40)) of('2l')"},
    {"hash", "the key is not a lock", "hash('colour', 'red') of('2l')"},
    {"list", "the key is not a lock", "redis.call('RPUSH', n, 'x') of('2l')"},
    {"stream", "the key is not a lock",
     "redis.call('XADD', n, '*', 'a', 'b') of('2l')"},
    {"large", "the key is not a lock",
     "for i = 1, 20000 do hash(H .. i, 1) end of('2l')"},
    {"semaphore-list", "the key is not a semaphore",
     "redis.call('RPUSH', n, 1) of('2p')"},
    {"semaphore-text", "the key is not a counter", "key(n, 'abc') of('2p')"},
    {"leases-text", "the key is not a semaphore",
     "key(n, '3') key('{' .. n .. '}:timeout', 'x') of('2p')"},
    {"permits-text", BAD_TYPE,
     "key(n, '3') key(own_key('h'), 'x') of('2p')"
     " redis.call('ZADD', '{' .. n .. '}:timeout', us, 'x')"},
    {"plain-list", "the key is not a semaphore",
     "redis.call('RPUSH', n, 1) of('2c')"},
    {"plain-text", "the key is not a number of permits",
     "key(n, '-' .. string.rep('9', 30)) of('2c')"},
    {"latch-list", "the key is not a latch",
     "redis.call('RPUSH', n, 1) of('2t')"},
    {"latch-text", "the key is not a count", "key(n, 'abc') of('2t')"},
    {"mode", "the key is not a read-write lock",
     "hash('mode', 'odd', H, 1) of('2w')"},
    {"readers-text", BAD_TYPE,
     "hash('mode', 'read', H, 1) of('2w') key(own_key('h'), 'x')"
     " key('{' .. n .. '}:' .. H .. ':rwlock_timeout:1', 1)"},
    {.name = NULL},
};

bool odd_is_told(const odd *one, const char *text)
{
    char named[128];
    const char *quote = strchr(text, '\'');

    (void)snprintf(named, sizeof(named), "'%s': ", one->name);
    if (quote != NULL && quote - text < 20 &&
        strncmp(quote, named, strlen(named)) == 0)
        text = quote + strlen(named);
    return strncmp(text, one->reason, strlen(one->reason)) == 0;
}

void odd_put(server *s)
{
    for (const odd *one = odd_names; one->name != NULL; one++) {
        char script[2048];
        redisReply *reply;

        (void)snprintf(script, sizeof(script), "%s%s return 1", words,
                       one->keys);
        reply = server_command(s, "EVAL %s 0 %s", script, one->name);
        if (reply->type != REDIS_REPLY_INTEGER)
            fail_msg("%s: %s", one->name, reply->str);
        freeReplyObject(reply);
    }
}
