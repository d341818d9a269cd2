-- SPDX-License-Identifier: MIT
-- part_line: the queue of waiting claims.
-- Needs: part_error, and that part_clock's clock was looked at for touch, skip
-- and append.
--
-- Order is by ticket, in the zset `queue`, or in another where a kind of waiter
-- has a lane of its own. What a waiter asked for is in the hash `tickets`:
-- "<ticket> <kind> <need> <lease> <seen ms> <since ms> <inbox> <reason>". A
-- waiter whose client did not answer is moved to the zset `skipped`; it keeps
-- its ticket there for ten seconds.

local line = {}
local queue, tickets, skipped = KEYS[3], KEYS[4], KEYS[5]
local LINE_MS = 60000
-- A waiter that was not heard of for so long is not asked.
local SEEN_MS = 3000

-- By kind: the zset in which its waiters stand, if it is not `queue`.
line.lanes = {}

local function lane(entry)
    return line.lanes[entry.kind] or queue
end

local function pack(entry)
    return string.format('%.0f %s %.0f %.0f %.0f %.0f ', entry.ticket,
        entry.kind, entry.need, entry.lease, entry.seen, entry.since)
        .. entry.inbox .. ' ' .. entry.reason
end

-- The entry in a field of `tickets`, or nil if it is not one.
function line.unpack(packed)
    local ticket, kind, need, ms, seen, since, inbox, reason = string.match(
        packed or '', '^(%d+) (%S+) (%d+) (%d+) (%d+) (%d+) (%S*) (.*)$')
    if not ticket then
        return nil
    end
    return {ticket = tonumber(ticket), kind = kind, need = tonumber(need),
        lease = tonumber(ms), seen = tonumber(seen), since = tonumber(since),
        inbox = inbox, reason = reason, packed = packed}
end

-- The entry of a claim, or nil.
function line.find(claim)
    return line.unpack(redis.call('HGET', tickets, claim))
end

-- The claim that is next in a lane, `queue` if none is named, and its entry;
-- nil when nobody waits there.
function line.first(in_lane)
    local claim = redis.call('ZRANGE', in_lane or queue, 0, 0)[1]
    if not claim then
        return nil
    end
    return claim, line.find(claim)
end

-- Whether anybody waits. What a script needs to go on it tries to read here: a
-- key of the wrong type, or a right that is missing, ends the script.
function line.is_there()
    local claim = line.first()
    for _, other in pairs(line.lanes) do
        claim = line.first(other) or claim
    end
    return claim ~= nil
end

-- Whether a waiter's client can be reached; nil and an error if the server
-- would not say. Nothing may be published to find out: what reaches nobody
-- here can still arrive by way of another node.
function line.is_alive(entry)
    if not entry or clock.ms - entry.seen > SEEN_MS then
        return false
    end
    local counts = redis.pcall('PUBSUB', 'NUMSUB', entry.inbox)
    if failed(counts) then
        return nil, counts
    end
    return counts[2] > 0
end

-- Takes a claim out of its lane, or of whichever it is in where its entry is
-- not known. Returns an error or nil.
local function step_out(claim, entry)
    if entry then
        return failed(redis.pcall('ZREM', lane(entry), claim))
    end
    local bad = failed(redis.pcall('ZREM', queue, claim))
    for _, other in pairs(line.lanes) do
        bad = bad or failed(redis.pcall('ZREM', other, claim))
    end
    return bad
end

-- Takes a queued claim out; its entry may be nil. Returns an error or nil.
function line.remove(claim, entry)
    return step_out(claim, entry)
        or failed(redis.pcall('HDEL', tickets, claim))
end

-- Takes a claim out wherever it is. Returns an error or nil.
function line.leave(claim)
    return line.remove(claim) or failed(redis.pcall('ZREM', skipped, claim))
end

-- Puts a claim that was taken out back into its place. If it was the last, its
-- keys are new ones without a TTL.
function line.restore(claim, entry)
    redis.pcall('ZADD', lane(entry), entry.ticket, claim)
    redis.pcall('HSET', tickets, claim, entry.packed)
    redis.pcall('PEXPIRE', lane(entry), LINE_MS)
    redis.pcall('PEXPIRE', tickets, LINE_MS)
end

-- Lets the others pass a claim whose client does not answer. Without an entry
-- there is nothing it could come back to.
function line.skip(claim, entry)
    local bad = step_out(claim, entry)
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
    local added = redis.pcall('ZADD', lane(entry), 'NX', entry.ticket, claim)
    if added == 1 then
        redis.pcall('ZREM', skipped, claim)
    end
    redis.pcall('PEXPIRE', skipped, LINE_MS)
    return failed(added)
        or failed(redis.pcall('HSET', tickets, claim, entry.packed))
        or failed(redis.pcall('PEXPIRE', lane(entry), LINE_MS))
end

-- The same for those of many claims that wait. Returns their tickets, 0 for one
-- that does not wait; or nil and an error.
function line.touch_all(claims)
    local found = redis.call('HMGET', tickets, unpack(claims))
    local given, packed, back, lanes = {}, {}, {}, {}
    for i = 1, #claims do
        local entry = line.unpack(found[i])
        given[i] = entry and entry.ticket or 0
        if entry then
            local zset = lane(entry)
            entry.seen = clock.ms
            packed[#packed + 1] = claims[i]
            packed[#packed + 1] = pack(entry)
            back[#back + 1] = claims[i]
            lanes[zset] = lanes[zset] or {}
            table.insert(lanes[zset], entry.ticket)
            table.insert(lanes[zset], claims[i])
        end
    end
    if #packed == 0 then
        return given
    end
    local bad = failed(redis.pcall('PEXPIRE', tickets, LINE_MS))
        or failed(redis.pcall('HSET', tickets, unpack(packed)))
    for zset, members in pairs(lanes) do
        bad = bad or failed(redis.pcall('ZADD', zset, 'NX', unpack(members)))
            or failed(redis.pcall('PEXPIRE', zset, LINE_MS))
    end
    if bad then
        return nil, bad
    end
    redis.pcall('ZREM', skipped, unpack(back))
    return given
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
    local bad = failed(redis.pcall('ZADD', lane(entry), entry.ticket, claim))
    if bad then
        return bad
    end
    bad = failed(redis.pcall('PEXPIRE', lane(entry), LINE_MS))
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

-- How many wait.
function line.length()
    local count = redis.call('ZCARD', queue)
    for _, other in pairs(line.lanes) do
        count = count + redis.call('ZCARD', other)
    end
    return count
end

-- The first 64 waiters of each lane, in one flat list: claim, need, ticket,
-- waited ms, reason, kind.
function line.list()
    local waiters, lanes = {}, {queue}
    for _, other in pairs(line.lanes) do
        lanes[#lanes + 1] = other
    end
    for i = 1, #lanes do
        local claims = redis.call('ZRANGE', lanes[i], 0, 63)
        for j = 1, #claims do
            local entry = line.find(claims[j])
            local party = entry and {claims[j], entry.need, entry.ticket,
                math.max(clock.ms - entry.since, 0), entry.reason, entry.kind}
            for k = 1, party and #party or 0 do
                waiters[#waiters + 1] = party[k]
            end
        end
    end
    return waiters
end
