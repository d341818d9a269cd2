/* SPDX-License-Identifier: MIT */

/*
 * What Redisson's scripts do to the keys, step by step, in words of our own.
 * `owner` is "<uuid>:<thread>", all times are milliseconds. The answers are
 * Redisson's: nil, 1, 0 or a TTL.
 */

#include "support/standin_scripts.h"

/* KEYS lock, token; ARGV lease, owner, 1 to count. Answers nil or a TTL. */
static const char acquire_script[] =
    "local lock, token, owner = KEYS[1], KEYS[2], ARGV[2]\n"
    "local theirs = redis.call('EXISTS', lock) == 1\n"
    "    and redis.call('HEXISTS', lock, owner) == 0\n"
    "if theirs then return redis.call('PTTL', lock) end\n"
    "if ARGV[3] == '1' then redis.call('INCR', token) end\n"
    "redis.call('HINCRBY', lock, owner, 1)\n"
    "redis.call('PEXPIRE', lock, ARGV[1])\n"
    "return false\n";

/*
 * KEYS lock, channel, latch; ARGV message, lease, owner, PUBLISH or empty,
 * latch's life. Answers 1, 0 or nil.
 */
static const char release_script[] =
    "local lock, latch, owner = KEYS[1], KEYS[3], ARGV[3]\n"
    "local before = redis.call('GET', latch)\n"
    "if before then return tonumber(before) end\n"
    "if redis.call('HEXISTS', lock, owner) == 0 then return false end\n"
    "local free = redis.call('HINCRBY', lock, owner, -1) <= 0\n"
    "if free then\n"
    "    redis.call('DEL', lock)\n"
    "    if ARGV[4] ~= '' then redis.call(ARGV[4], KEYS[2], ARGV[1]) end\n"
    "else\n"
    "    redis.call('PEXPIRE', lock, ARGV[2])\n"
    "end\n"
    "redis.call('SET', latch, free and 1 or 0, 'PX', ARGV[5])\n"
    "return free and 1 or 0\n";

/* KEYS lock, channel; ARGV message, PUBLISH or empty. Answers 1 or 0. */
static const char force_script[] =
    "if redis.call('DEL', KEYS[1]) == 0 then return 0 end\n"
    "if ARGV[2] ~= '' then redis.call(ARGV[2], KEYS[2], ARGV[1]) end\n"
    "return 1\n";

/* KEYS lock; ARGV timeout, owner. Answers 1 or 0. */
static const char renew_script[] =
    "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end\n"
    "return redis.call('PEXPIRE', KEYS[1], ARGV[1])\n";

/* ---- the fair lock ---- */

/* The first step of three scripts; KEYS[2] queue, KEYS[3] timeouts. */
#define FAIR_SWEEP                                                             \
    "local queue, timeouts = KEYS[2], KEYS[3]\n"                               \
    "local function sweep(now)\n"                                              \
    "    local head = redis.call('LINDEX', queue, 0)\n"                        \
    "    while head do\n"                                                      \
    "        local due = redis.call('ZSCORE', timeouts, head)\n"               \
    "        if not due or tonumber(due) > now then return head end\n"         \
    "        redis.call('ZREM', timeouts, head)\n"                             \
    "        redis.call('LPOP', queue)\n"                                      \
    "        head = redis.call('LINDEX', queue, 0)\n"                          \
    "    end\n"                                                                \
    "    return nil\n"                                                         \
    "end\n"

/*
 * KEYS lock, queue, timeouts; ARGV lease, owner, tenure, now, 1 to queue.
 * Answers nil or a TTL.
 */
static const char fair_acquire_script[] = FAIR_SWEEP
    "local lock, owner, tenure = KEYS[1], ARGV[2], tonumber(ARGV[3])\n"
    "local now = tonumber(ARGV[4])\n"
    "local head = sweep(now)\n"
    "if redis.call('EXISTS', lock) == 0 and (not head or head == owner) then\n"
    "    redis.call('LPOP', queue)\n"
    "    redis.call('ZREM', timeouts, owner)\n"
    "    for _, member in ipairs(redis.call('ZRANGE', timeouts, 0, -1)) do\n"
    "        redis.call('ZINCRBY', timeouts, -tenure, member)\n"
    "    end\n"
    "    redis.call('HSET', lock, owner, 1)\n"
    "    redis.call('PEXPIRE', lock, ARGV[1])\n"
    "    return false\n"
    "elseif redis.call('HEXISTS', lock, owner) == 1 then\n"
    "    redis.call('HINCRBY', lock, owner, 1)\n"
    "    redis.call('PEXPIRE', lock, ARGV[1])\n"
    "    return false\n"
    "elseif ARGV[5] ~= '1' then\n"
    "    return 1\n"
    "end\n"
    "local left = redis.call('PTTL', lock)\n"
    "if redis.call('ZSCORE', timeouts, owner) then\n"
    "    return math.max(0, left)\n"
    "end\n"
    "local last = redis.call('LINDEX', queue, -1)\n"
    "local due = last and last ~= owner\n"
    "    and redis.call('ZSCORE', timeouts, last)\n"
    "if due then left = tonumber(due) - now end\n"
    "local score = string.format('%.0f', left + tenure + now)\n"
    "if redis.call('ZADD', timeouts, score, owner) == 1 then\n"
    "    redis.call('RPUSH', queue, owner)\n"
    "end\n"
    "return left\n";

/* KEYS lock, queue, timeouts; ARGV owner, tenure. */
static const char fair_give_up_script[] =
    "local queue, timeouts, owner = KEYS[2], KEYS[3], ARGV[1]\n"
    "local behind = false\n"
    "for _, member in ipairs(redis.call('LRANGE', queue, 0, -1)) do\n"
    "    if behind then\n"
    "        redis.call('ZINCRBY', timeouts, -tonumber(ARGV[2]), member)\n"
    "    end\n"
    "    behind = behind or member == owner\n"
    "end\n"
    "redis.call('ZREM', timeouts, owner)\n"
    "redis.call('LREM', queue, 0, owner)\n"
    "return false\n";

/*
 * KEYS lock, queue, timeouts, channel, latch; ARGV message, lease, owner, now,
 * latch's life. Answers 1, 0 or nil.
 */
static const char fair_release_script[] = FAIR_SWEEP
    "local lock, latch, owner = KEYS[1], KEYS[5], ARGV[3]\n"
    "local before = redis.call('GET', latch)\n"
    "if before then return tonumber(before) end\n"
    "local head = sweep(tonumber(ARGV[4]))\n"
    "if redis.call('EXISTS', lock) == 1 then\n"
    "    if redis.call('HEXISTS', lock, owner) == 0 then return false end\n"
    "    if redis.call('HINCRBY', lock, owner, -1) > 0 then\n"
    "        redis.call('PEXPIRE', lock, ARGV[2])\n"
    "        redis.call('SET', latch, 0, 'PX', ARGV[5])\n"
    "        return 0\n"
    "    end\n"
    "    redis.call('DEL', lock)\n"
    "end\n"
    "redis.call('SET', latch, 1, 'PX', ARGV[5])\n"
    "if head then\n"
    "    redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[1])\n"
    "end\n"
    "return 1\n";

/* KEYS lock, queue, timeouts, channel; ARGV message, now. Answers 1 or 0. */
static const char fair_force_script[] =
    FAIR_SWEEP "local head = sweep(tonumber(ARGV[2]))\n"
               "if redis.call('DEL', KEYS[1]) == 0 then return 0 end\n"
               "if head then\n"
               "    redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[1])\n"
               "end\n"
               "return 1\n";

const char *const standin_scripts[STANDIN_STEPS] = {
    [STANDIN_ACQUIRE] = acquire_script,
    [STANDIN_RELEASE] = release_script,
    [STANDIN_FORCE] = force_script,
    [STANDIN_RENEW] = renew_script,
    [STANDIN_FAIR_ACQUIRE] = fair_acquire_script,
    [STANDIN_FAIR_GIVE_UP] = fair_give_up_script,
    [STANDIN_FAIR_RELEASE] = fair_release_script,
    [STANDIN_FAIR_FORCE] = fair_force_script,
};
