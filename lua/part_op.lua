-- SPDX-License-Identifier: MIT
-- part_op: operations that count once, however often they are sent.
-- Needs: part_error, part_clock, and the argument owner, here the number of
-- the operation; KEYS[6] is the zset operation -> when, in ms.
--
-- An operation that changed something is noted, and found when it is sent
-- again. Nobody sends one again ten minutes after its call has ended, which is
-- a command's time after it was first sent.

local op = {}
local memo = KEYS[6]
local MEMO_MS = 660000
local SWEEP = 64

-- Whether it has run before. Ends the script where the memo is none.
function op.ran()
    local at = tonumber(redis.call('ZSCORE', memo, ARGV[1]))
    return at and at > clock.ms - MEMO_MS
end

-- Forgets some old ones, more than one call notes. As a first write it has a
-- full server let the others through. Returns an error or nil.
function op.sweep()
    local old = redis.pcall('ZRANGEBYSCORE', memo, '-inf', clock.ms - MEMO_MS,
        'LIMIT', 0, SWEEP)
    return failed(old) or failed(redis.pcall('ZREM', memo, '', unpack(old)))
end

-- Takes the note of it away, or makes it too old to count.
function op.forget()
    if failed(redis.pcall('ZREM', memo, ARGV[1])) then
        redis.pcall('ZADD', memo, 0, ARGV[1])
    end
end

-- Notes it. Returns an error, and then it may have to be forgotten, or nil.
function op.note()
    return failed(redis.pcall('ZADD', memo, clock.ms, ARGV[1]))
        or failed(redis.pcall('PEXPIRE', memo, MEMO_MS))
end
