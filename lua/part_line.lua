-- SPDX-License-Identifier: MIT
-- part_line: the queue of waiting claims.
-- Needs: part_error, and that part_clock's clock was looked at for touch, skip
-- and append.
--
-- Order is by ticket, in the zset `queue`. What a waiter asked for is in the
-- hash `tickets`: "<ticket> <kind> <need> <lease> <seen ms> <since ms> <inbox>
-- <reason>". A waiter whose client did not answer is moved to the zset
-- `skipped`; it keeps its ticket there for ten seconds.

local line = {}
local queue, tickets, skipped = KEYS[3], KEYS[4], KEYS[5]
local LINE_MS = 60000

local function pack(entry)
    return string.format('%.0f x 1 %.0f %.0f %.0f ', entry.ticket,
        entry.lease, entry.seen, entry.since)
        .. entry.inbox .. ' ' .. entry.reason
end

-- The entry in a field of `tickets`, or nil if it is not one.
function line.unpack(packed)
    local ticket, ms, seen, since, inbox, reason = string.match(packed or '',
        '^(%d+) %S+ %d+ (%d+) (%d+) (%d+) (%S*) (.*)$')
    if not ticket then
        return nil
    end
    return {ticket = tonumber(ticket), lease = tonumber(ms),
        seen = tonumber(seen), since = tonumber(since), inbox = inbox,
        reason = reason, packed = packed}
end

-- The entry of a claim, or nil.
function line.find(claim)
    return line.unpack(redis.call('HGET', tickets, claim))
end

-- The claim that is next, and its entry; nil when nobody waits.
function line.first()
    local claim = redis.call('ZRANGE', queue, 0, 0)[1]
    if not claim then
        return nil
    end
    return claim, line.find(claim)
end

-- Takes a queued claim out. Returns an error or nil.
function line.remove(claim)
    return failed(redis.pcall('ZREM', queue, claim))
        or failed(redis.pcall('HDEL', tickets, claim))
end

-- Takes a claim out wherever it is. Returns an error or nil.
function line.leave(claim)
    return line.remove(claim) or failed(redis.pcall('ZREM', skipped, claim))
end

-- Puts a claim that was taken out back into its place. If it was the last, its
-- keys are new ones without a TTL.
function line.restore(claim, entry)
    redis.pcall('ZADD', queue, entry.ticket, claim)
    redis.pcall('HSET', tickets, claim, entry.packed)
    redis.pcall('PEXPIRE', queue, LINE_MS)
    redis.pcall('PEXPIRE', tickets, LINE_MS)
end

-- Lets the others pass a claim whose client does not answer. Without an entry
-- there is nothing it could come back to.
function line.skip(claim, entry)
    local bad = failed(redis.pcall('ZREM', queue, claim))
    if not bad and entry then
        redis.pcall('ZADD', skipped, clock.ms, claim)
        redis.pcall('PEXPIRE', skipped, LINE_MS)
    end
    return bad
end

-- Notes that a waiting claim is alive and gives it its place back. The first
-- write is one that a full server does not refuse. Returns an error or nil.
function line.touch(claim, entry)
    local bad = failed(redis.pcall('PEXPIRE', tickets, LINE_MS))
    if bad then
        return bad
    end
    entry.seen = clock.ms
    entry.packed = pack(entry)
    local added = redis.pcall('ZADD', queue, 'NX', entry.ticket, claim)
    if added == 1 then
        redis.pcall('ZREM', skipped, claim)
    end
    redis.pcall('PEXPIRE', skipped, LINE_MS)
    return failed(added)
        or failed(redis.pcall('HSET', tickets, claim, entry.packed))
        or failed(redis.pcall('PEXPIRE', queue, LINE_MS))
end

-- Drops claims for good that were skipped more than ten seconds ago; a few at
-- a time, yet faster than they can come.
local function sweep()
    if redis.pcall('PEXPIRE', skipped, LINE_MS) ~= 1 then
        return
    end
    local gone = redis.pcall('ZRANGEBYSCORE', skipped, '-inf',
        clock.ms - 10000, 'LIMIT', 0, 16)
    if #gone > 0 then
        redis.pcall('HDEL', tickets, unpack(gone))
        redis.pcall('ZREM', skipped, unpack(gone))
    end
end

-- Puts a claim at the end; last is the last ticket given. Fills in its entry.
-- The first write is one that a full server refuses. Returns an error, and
-- then nothing is queued, or nil.
function line.append(claim, entry, last)
    entry.ticket = math.max((tonumber(last) or 0) + 1, clock.us)
    entry.seen, entry.since = clock.ms, clock.ms
    local bad = failed(redis.pcall('ZADD', queue, entry.ticket, claim))
    if bad then
        return bad
    end
    bad = failed(redis.pcall('PEXPIRE', queue, LINE_MS))
        or failed(redis.pcall('HSET', tickets, '#', entry.ticket, claim,
            pack(entry)))
        or failed(redis.pcall('PEXPIRE', tickets, LINE_MS))
    if bad then
        line.remove(claim)
        return bad
    end
    sweep()
    return nil
end

-- 1 if claim is next and the name is held by somebody who will never hand it
-- over: then its client must try for itself.
function line.contends(claim)
    if record.holder == record.claim then
        return 0
    end
    return redis.pcall('ZRANGE', queue, 0, 0)[1] == claim and 1 or 0
end
