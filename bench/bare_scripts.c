/* SPDX-License-Identifier: MIT */
#include "bare_scripts.h"

#include <err.h>
#include <string.h>

static const char *const texts[SCRIPTS] = {
    [SCRIPT_HASH] = "if redis.call('exists', KEYS[1]) == 0\n"
                    "    or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then\n"
                    "  redis.call('hincrby', KEYS[1], ARGV[2], 1)\n"
                    "  redis.call('pexpire', KEYS[1], ARGV[1])\n"
                    "  return nil\n"
                    "end\n"
                    "return redis.call('pttl', KEYS[1])\n",
    [SCRIPT_UNHASH] =
        "if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n"
        "  return nil\n"
        "end\n"
        "if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then\n"
        "  redis.call('pexpire', KEYS[1], ARGV[1])\n"
        "  return 0\n"
        "end\n"
        "redis.call('del', KEYS[1])\n"
        "redis.call('publish', KEYS[2], '0')\n"
        "return 1\n",
    [SCRIPT_LOCK] = "if redis.call('exists', KEYS[1]) == 0\n"
                    "    or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then\n"
                    "  redis.call('hincrby', KEYS[1], ARGV[2], 1)\n"
                    "  redis.call('pexpire', KEYS[1], ARGV[1])\n"
                    "  return nil\n"
                    "end\n"
                    "return redis.call('pttl', KEYS[1])\n",
    [SCRIPT_UNLOCK] =
        "local kept = redis.call('get', KEYS[4])\n"
        "if kept ~= false then\n"
        "  return tonumber(kept)\n"
        "end\n"
        "if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n"
        "  return nil\n"
        "end\n"
        "if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then\n"
        "  redis.call('pexpire', KEYS[1], ARGV[1])\n"
        "  redis.call('set', KEYS[4], 0, 'px', ARGV[3])\n"
        "  return 0\n"
        "end\n"
        "redis.call('del', KEYS[1])\n"
        "redis.call('publish', KEYS[2], '0')\n"
        "redis.call('set', KEYS[4], 1, 'px', ARGV[3])\n"
        "return 1\n",
    [SCRIPT_READ] =
        "local mode = redis.call('hget', KEYS[1], 'mode')\n"
        "if mode == false then\n"
        "  redis.call('hset', KEYS[1], 'mode', 'read')\n"
        "  redis.call('hset', KEYS[1], ARGV[2], 1)\n"
        "  redis.call('set', KEYS[2] .. ':1', 1)\n"
        "  redis.call('pexpire', KEYS[2] .. ':1', ARGV[1])\n"
        "  redis.call('pexpire', KEYS[1], ARGV[1])\n"
        "  return nil\n"
        "end\n"
        "if mode == 'read' or (mode == 'write'\n"
        "    and redis.call('hexists', KEYS[1], ARGV[3]) == 1) then\n"
        "  local count = redis.call('hincrby', KEYS[1], ARGV[2], 1)\n"
        "  local key = KEYS[2] .. ':' .. count\n"
        "  redis.call('set', key, 1)\n"
        "  redis.call('pexpire', key, ARGV[1])\n"
        "  local left = redis.call('pttl', KEYS[1])\n"
        "  redis.call('pexpire', KEYS[1], math.max(left, ARGV[1]))\n"
        "  return nil\n"
        "end\n"
        "return redis.call('pttl', KEYS[1])\n",
    [SCRIPT_UNREAD] =
        "local kept = redis.call('get', KEYS[4])\n"
        "if kept ~= false then\n"
        "  return tonumber(kept)\n"
        "end\n"
        "local mode = redis.call('hget', KEYS[1], 'mode')\n"
        "if mode == false then\n"
        "  redis.call('publish', KEYS[2], '0')\n"
        "  redis.call('set', KEYS[4], 1, 'px', ARGV[3])\n"
        "  return nil\n"
        "end\n"
        "if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n"
        "  return nil\n"
        "end\n"
        "local count = redis.call('hincrby', KEYS[1], ARGV[2], -1)\n"
        "if count == 0 then\n"
        "  redis.call('hdel', KEYS[1], ARGV[2])\n"
        "end\n"
        "redis.call('del', KEYS[3] .. ':' .. (count + 1))\n"
        "if redis.call('hlen', KEYS[1]) > 1 then\n"
        "  local most = -3\n"
        "  for _, field in ipairs(redis.call('hkeys', KEYS[1])) do\n"
        "    local n = tonumber(redis.call('hget', KEYS[1], field))\n"
        "    for i = n or 0, 1, -1 do\n"
        "      most = math.max(most, redis.call('pttl', ARGV[4] .. ':' .. "
        "field\n"
        "        .. ':rwlock_timeout:' .. i))\n"
        "    end\n"
        "  end\n"
        "  if most > 0 then\n"
        "    redis.call('pexpire', KEYS[1], most)\n"
        "    redis.call('set', KEYS[4], 0, 'px', ARGV[3])\n"
        "    return 1\n"
        "  end\n"
        "  if mode == 'write' then\n"
        "    redis.call('set', KEYS[4], 0, 'px', ARGV[3])\n"
        "    return 1\n"
        "  end\n"
        "end\n"
        "redis.call('del', KEYS[1])\n"
        "redis.call('publish', KEYS[2], '0')\n"
        "redis.call('set', KEYS[4], 1, 'px', ARGV[3])\n"
        "return 1\n",
    [SCRIPT_WRITE] =
        "local mode = redis.call('hget', KEYS[1], 'mode')\n"
        "if mode == false then\n"
        "  redis.call('hset', KEYS[1], 'mode', 'write')\n"
        "  redis.call('hset', KEYS[1], ARGV[2], 1)\n"
        "  redis.call('pexpire', KEYS[1], ARGV[1])\n"
        "  return nil\n"
        "end\n"
        "if mode == 'write'\n"
        "    and redis.call('hexists', KEYS[1], ARGV[2]) == 1 then\n"
        "  redis.call('hincrby', KEYS[1], ARGV[2], 1)\n"
        "  local left = redis.call('pttl', KEYS[1])\n"
        "  redis.call('pexpire', KEYS[1], left + ARGV[1])\n"
        "  return nil\n"
        "end\n"
        "return redis.call('pttl', KEYS[1])\n",
    [SCRIPT_UNWRITE] =
        "local kept = redis.call('get', KEYS[4])\n"
        "if kept ~= false then\n"
        "  return tonumber(kept)\n"
        "end\n"
        "local mode = redis.call('hget', KEYS[1], 'mode')\n"
        "if mode == false then\n"
        "  redis.call('publish', KEYS[2], '1')\n"
        "  redis.call('set', KEYS[4], 1, 'px', ARGV[3])\n"
        "  return nil\n"
        "end\n"
        "if mode ~= 'write'\n"
        "    or redis.call('hexists', KEYS[1], ARGV[2]) == 0 then\n"
        "  return nil\n"
        "end\n"
        "if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then\n"
        "  redis.call('pexpire', KEYS[1], ARGV[1])\n"
        "  redis.call('set', KEYS[4], 0, 'px', ARGV[3])\n"
        "  return 0\n"
        "end\n"
        "redis.call('hdel', KEYS[1], ARGV[2])\n"
        "if redis.call('hlen', KEYS[1]) == 1 then\n"
        "  redis.call('del', KEYS[1])\n"
        "  redis.call('publish', KEYS[2], '1')\n"
        "else\n"
        "  redis.call('hset', KEYS[1], 'mode', 'read')\n"
        "end\n"
        "redis.call('set', KEYS[4], 1, 'px', ARGV[3])\n"
        "return 1\n",
};

static char shas[SCRIPTS][41];

void scripts_load(redisContext *redis)
{
    for (int i = 0; i < SCRIPTS; i++) {
        redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", texts[i]);

        if (reply == NULL || reply->type != REDIS_REPLY_STRING ||
            reply->len != 40)
            errx(1, "a script does not load");
        memcpy(shas[i], reply->str, sizeof(shas[i]));
        freeReplyObject(reply);
    }
}

const char *script_sha(script which)
{
    return shas[which];
}
