-- SPDX-License-Identifier: MIT
-- part_pass: handing a name on.
-- Needs: part_error, part_record, part_clock, part_lease, part_fences,
-- part_hold, part_line, part_others.
--
-- Messages to an inbox: `grant lock <claim> <ticket> <fence> <top> <lease ms>
-- <name>`, in one line, is the hold itself; `open lock <claim> <ticket> <name>`
-- says that the name is free and others may take it as well.

local pass = {}

-- At most so long does a grant last until its new owner is heard of.
local CLAIM_MS = 3000
-- A waiter that was not heard of for so long is not asked.
local SEEN_MS = 3000
-- At most so many waiters are looked at in one call.
local LOOKS = 64

-- Tells a waiter that the name is open. Returns an error or nil.
local function announce(claim, entry)
    if not entry then
        return nil
    end
    return failed(redis.pcall('PUBLISH', entry.inbox, string.format(
        'open lock %s %.0f ', claim, entry.ticket) .. lock))
end

-- Makes a waiter the owner and tells it. Returns an error, and then the name is
-- free and the waiter in its place, or nil.
local function grant(claim, entry)
    local ms = math.min(entry.lease, CLAIM_MS)
    local range, bad = hold.take(claim, entry, ms)
    if bad then
        return bad
    end
    bad = line.remove(claim)
        or failed(redis.pcall('PUBLISH', entry.inbox, string.format(
            'grant lock %s %.0f %.0f %.0f %.0f ', claim, entry.ticket,
            range.fence, range.top, ms) .. lock))
    if bad then
        hold.undo(claim)
        line.restore(claim, entry)
    end
    return bad
end

-- Whether a waiter's client can be reached; nil and an error if the server
-- would not say. Nothing may be published to find out: what reaches nobody
-- here can still arrive by way of another node.
local function is_alive(entry)
    if not entry or clock.ms - entry.seen > SEEN_MS then
        return false
    end
    local counts = redis.pcall('PUBSUB', 'NUMSUB', entry.inbox)
    if failed(counts) then
        return nil, counts
    end
    return counts[2] > 0
end

-- Does act(claim, entry) for the first waiter alive, starting with the one
-- given, and skips those before it. self, if not nil, is a claim known to be
-- alive; if it comes first, nothing is done for it. Returns the claim or nil,
-- 1 if there are more to look at, and an error or nil. After an error the
-- waiter is told that the name is open: perhaps it hears that.
function pass.walk(claim, entry, act, self)
    local bad
    for _ = 1, LOOKS do
        if not claim then
            return nil, 0
        elseif claim == self then
            return claim, 0
        end
        local alive
        alive, bad = is_alive(entry)
        if alive then
            bad = act(claim, entry)
        end
        if bad then
            announce(claim, entry)
            return nil, 0, bad
        elseif alive then
            return claim, 0
        end
        bad = line.skip(claim, entry)
        if bad then
            return nil, 0, bad
        end
        claim, entry = line.first()
    end
    return nil, claim and 1 or 0
end

-- Gives the free name to the first waiter alive; self as above.
function pass.give(claim, entry, self)
    return pass.walk(claim, entry, grant, self)
end

-- Leaves the name to everybody, and tells the first waiter alive.
local function leave_open(claim, entry)
    if (record.open or 0) == 0 then
        redis.pcall('HSET', state, 'v', '1', 'open', clock.ms)
        lease.keep(state, record.kept, 0)
    end
    return pass.walk(claim, entry, announce)
end

-- Frees the name and hands it on. While others are there, the sides take
-- turns: theirs begins when ours is over. The first write is one that a full
-- server does not refuse. Returns 1 if the call must be repeated, and 1 if
-- the server denied something, so that waiters must look for themselves; or
-- nil and the error because of which nothing was done.
function pass.on()
    local claim, entry = line.first()
    local theirs, bad = false, nil
    if claim then
        clock.look()
        theirs, bad = others.are_there()
        theirs = theirs and clock.ms >= (record.till or 0)
    end
    local refused = failed(redis.pcall('DEL', lock))
    if refused then
        return nil, refused
    end

    local done, more = nil, 0
    if bad then
        announce(claim, entry)
    elseif theirs then
        done, more, bad = leave_open(claim, entry)
    elseif claim then
        done, more, bad = pass.give(claim, entry)
    end
    if theirs or not done then
        bad = others.tell() or bad
    end
    return more, bad and 1 or 0
end
