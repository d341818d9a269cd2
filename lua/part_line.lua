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
--
-- `tickets` has three fields besides: "#", the last ticket; "@", when a waiter
-- last said that it lives, in ms; and "!", "<ms> <ms>": the last two times at
-- which it was found that "@" is out of reach of the clock. Waiters look every
-- second, so it was then not they who were late: the clock was set, or the
-- server stood still.

local line = {}
local queue, tickets, skipped = KEYS[3], KEYS[4], KEYS[5]
local LINE_MS = 60000
-- A waiter that was not heard of for so long is not asked. Nor is one that was
-- heard of so long from now, by a clock that was set back since.
local SEEN_MS = 3000

-- One that was heard of so lately need not be noted again.
local FRESH_MS = 500

-- What is_there() read of `queue`, until that is used or changed.
local peeked

-- By kind: the zset in which its waiters stand, if it is not `queue`.
line.lanes = {}

function line.lane(entry)
    return line.lanes[entry.kind] or queue
end

function line.pack(entry)
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
    if peeked and peeked[1] == claim then
        return peeked[2]
    end
    return line.unpack(redis.call('HGET', tickets, claim))
end

-- The claim that is next in a lane, `queue` if none is named, and its entry;
-- nil when nobody waits there.
function line.first(in_lane)
    if peeked and not in_lane then
        local claim, entry = peeked[1], peeked[2]
        peeked = nil
        return claim, entry
    end
    local claim = redis.call('ZRANGE', in_lane or queue, 0, 0)[1]
    if not claim then
        return nil
    end
    return claim, line.find(claim)
end

-- The queue was changed by other means.
function line.forget()
    peeked = nil
end

-- Whether anybody waits. What a script needs to go on it tries to read here: a
-- key of the wrong type, or a right that is missing, ends the script.
function line.is_there()
    local claim, entry = line.first()
    peeked = {claim, entry}
    for _, other in pairs(line.lanes) do
        claim = line.first(other) or claim
    end
    return claim ~= nil
end

local function is_near(ms)
    return math.abs(clock.ms - ms) <= SEEN_MS
end

-- Since when, and from which time on seen, waiters are spared; see is_spared().
local spared_at, spared_from

-- Reads that, given the fields "@" and "!", and notes it if it begins now.
local function look_for_gap(beat, gap)
    local at, before = string.match(gap or '', '^(%d+) (%d+)$')
    spared_at, spared_from = tonumber(at) or 0, tonumber(before) or 0
    if is_near(spared_at) or is_near(tonumber(beat) or 0) then
        return
    end
    spared_from = spared_at <= clock.ms and spared_at or 0
    spared_at = clock.ms
    redis.pcall('HSET', tickets, '!', string.format('%.0f %.0f', spared_at,
        spared_from))
end

-- Whether a waiter that was not seen in time is taken for alive all the same:
-- nobody could be seen then. It has as long again to say a word, once: one that
-- was not heard of since the gap before is not spared again.
local function is_spared(entry)
    if not spared_at then
        local fields = redis.call('HMGET', tickets, '@', '!')
        look_for_gap(fields[1], fields[2])
    end
    return is_near(spared_at) and entry.seen >= spared_from
end

-- Whether a waiter's client can be reached; nil and an error if the server
-- would not say. Nothing may be published to find out: what reaches nobody
-- here can still arrive by way of another node.
function line.is_alive(entry)
    if not entry or not is_near(entry.seen) and not is_spared(entry) then
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
    peeked = nil
    if entry then
        return failed(redis.pcall('ZREM', line.lane(entry), claim))
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
    peeked = nil
    redis.pcall('ZADD', line.lane(entry), entry.ticket, claim)
    redis.pcall('HSET', tickets, claim, entry.packed)
    redis.pcall('PEXPIRE', line.lane(entry), LINE_MS)
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

-- Whether a claim is the first, as is_there() found, and was heard of just now.
local function is_fresh(claim, entry)
    return peeked and peeked[1] == claim
        and math.abs(clock.ms - entry.seen) < FRESH_MS
end

-- Notes that a waiting claim is alive and gives it its place back. The first
-- write is one that a full server does not refuse. Returns an error or nil.
function line.touch(claim, entry)
    local bad = failed(redis.pcall('PEXPIRE', tickets, LINE_MS))
    if bad or is_fresh(claim, entry) then
        return bad
    end
    peeked = nil
    local fields = redis.call('HMGET', tickets, '@', '!')
    look_for_gap(fields[1] or clock.ms, fields[2])
    entry.seen = clock.ms
    entry.packed = line.pack(entry)
    local lane = line.lane(entry)
    local added = redis.pcall('ZADD', lane, 'NX', entry.ticket, claim)
    if added == 1 then
        redis.pcall('ZREM', skipped, claim)
    end
    redis.pcall('PEXPIRE', skipped, LINE_MS)
    return failed(added)
        or failed(redis.pcall('HSET', tickets, claim, entry.packed, '@',
            clock.ms))
        or failed(redis.pcall('PEXPIRE', lane, LINE_MS))
end

-- Notes, for waiters that say together that they live, what touch() notes for
-- one; fields are "@" and "!" as they were.
function line.beat(fields)
    look_for_gap(fields[1] or clock.ms, fields[2])
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
    peeked = nil
    entry.ticket = math.max((tonumber(last) or 0) + 1, clock.us)
    local bad = beyond(entry.ticket, 'tickets')
    if bad then
        return bad
    end
    entry.seen, entry.since = clock.ms, clock.ms
    local lane = line.lane(entry)
    bad = failed(redis.pcall('ZADD', lane, entry.ticket, claim))
    if bad then
        return bad
    end
    bad = failed(redis.pcall('PEXPIRE', lane, LINE_MS))
        or failed(redis.pcall('HSET', tickets, '#', entry.ticket, claim,
            line.pack(entry)))
        or failed(redis.pcall('PEXPIRE', tickets, LINE_MS))
    if bad then
        line.remove(claim)
        return bad
    end
    sweep()
    return nil
end
