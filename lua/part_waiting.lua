-- SPDX-License-Identifier: MIT
-- part_waiting: who waits for a latch, for operators to see.
-- Needs: part_error, part_clock.
--
-- A wait takes nothing, so nothing depends on this list: where it cannot be
-- written, the wait goes on unlisted. A claim that was not seen for ten
-- seconds, or was seen by a clock that was set back since, does not wait any
-- more. An entry is "<since ms> <inbox> <reason>".

local listed = {}
local SEEN_MS, LIST_MS = 10000, 60000
local waiting, tickets = KEYS[3], KEYS[4]

-- Takes a claim off the list. Returns 1 if it was on it, 0, or an error.
function listed.remove(claim)
    redis.pcall('HDEL', tickets, claim)
    return redis.pcall('ZREM', waiting, claim)
end

-- Drops some that were not seen for long, faster than they can come.
local function sweep()
    local gone = redis.pcall('ZRANGEBYSCORE', waiting, '-inf',
        clock.ms - SEEN_MS, 'LIMIT', 0, 16)
    if not failed(gone) and #gone > 0 then
        redis.pcall('HDEL', tickets, unpack(gone))
        redis.pcall('ZREM', waiting, unpack(gone))
    end
end

-- Notes that a claim waits and lives. The first write is one that a full
-- server refuses.
function listed.see(claim, inbox, reason)
    local added = redis.pcall('ZADD', waiting, clock.ms, claim)
    local bad = failed(added) or failed(redis.pcall('PEXPIRE', waiting,
        LIST_MS))
    if added == 1 and not bad then
        bad = failed(redis.pcall('HSET', tickets, claim,
            string.format('%.0f ', clock.ms) .. inbox .. ' ' .. reason))
    end
    bad = bad or failed(redis.pcall('PEXPIRE', tickets, LIST_MS))
    if bad and not failed(added) then
        listed.remove(claim) -- a list without an end would stay
    end
    sweep()
end

-- How many wait, and {claim, need 1, ticket 0, waited ms, reason, mode '', ...}
-- of 64 of them; nobody's turn comes before another's.
function listed.all()
    local from = '(' .. string.format('%.0f', clock.ms - SEEN_MS)
    local till = string.format('%.0f', clock.ms + SEEN_MS)
    local rows = {}
    for _, claim in ipairs(redis.call('ZRANGEBYSCORE', waiting, from, till,
        'LIMIT', 0, 64)) do
        local since, reason = string.match(redis.call('HGET', tickets, claim)
            or '', '^(%d+) %S* (.*)$')
        local ms = math.max(clock.ms - (tonumber(since) or clock.ms), 0)
        for _, value in ipairs({claim, 1, 0, ms, reason or '', ''}) do
            rows[#rows + 1] = value
        end
    end
    return redis.call('ZCOUNT', waiting, from, till), rows
end
