-- SPDX-License-Identifier: MIT
-- part_pass: handing on what became free.
-- Needs: part_error, the record, part_clock, part_lease,
-- part_line, part_others, and the kind's `room`:
--
-- room.family      the word of its messages
-- room.next()      the waiter that is to be served now and fits: claim, entry;
--                  nil: none. Without an entry the waiter is dropped. One that
--                  is dead may be returned though it does not fit: it is
--                  skipped, and does not keep those behind it waiting
-- room.take(claim, entry, ms)  makes it a holder for ms; {fence =, top =}, or
--                  nil and an error, and then nothing has changed
-- room.undo(claim, entry)      takes that back
-- room.free()      the first write of a release; an error or nil
-- room.word()      what Redisson's channel is told; nil: nothing
--
-- Messages to an inbox: `grant <family> <claim> <ticket> <fence> <top> <lease
-- ms> <name>`, in one line, is the hold itself; `open <family> <claim> <ticket>
-- <name>` says that there is room and others may take it as well.

local pass = {}

-- At most so long does a grant last until its new owner is heard of.
local CLAIM_MS = 3000
-- At most so many waiters are looked at in one call.
local LOOKS = 64

-- Tells a waiter that there is room. Returns an error or nil.
local function announce(claim, entry)
    if not entry then
        return nil
    end
    return failed(redis.pcall('PUBLISH', entry.inbox, string.format(
        'open %s %s %.0f ', room.family, claim, entry.ticket) .. lock))
end

-- Makes a waiter a holder and tells it. Returns an error, and then the waiter
-- is in its place, or nil.
local function grant(claim, entry)
    local ms = math.min(entry.lease, CLAIM_MS)
    local range, bad = room.take(claim, entry, ms)
    if bad then
        return bad
    end
    bad = line.remove(claim, entry)
        or failed(redis.pcall('PUBLISH', entry.inbox, string.format(
            'grant %s %s %.0f %.0f %.0f %.0f ', room.family, claim,
            entry.ticket, range.fence, range.top, ms) .. lock))
    if bad then
        room.undo(claim, entry)
        line.restore(claim, entry)
    end
    return bad
end

-- Does act(claim, entry) for the waiters that are to be served and alive, for
-- most of them at the most, and skips the dead; LOOKS in all. self, if not nil,
-- is a claim known to be alive; when its turn comes nothing is done for it.
-- Returns for how many it was done, 1 if there are more to look at, an error or
-- nil, and self if its turn has come. After an error the waiter is told that
-- there is room: perhaps it hears that.
local function walk(act, most, self)
    local served = 0
    for _ = 1, LOOKS do
        local claim, entry = nil, nil
        if served < most then
            claim, entry = room.next()
        end
        if not claim or claim == self then
            return served, 0, nil, claim
        end
        local alive, bad = line.is_alive(entry)
        if alive then
            bad = act(claim, entry)
            served = bad and served or served + 1
        elseif not bad then
            bad = line.skip(claim, entry)
        end
        if bad then
            announce(claim, entry)
            return served, 0, bad
        end
    end
    return served, served < most and room.next() and 1 or 0
end

-- Tells the first waiter alive that there is room, and leaves it at that.
function pass.announce(self)
    return walk(announce, 1, self)
end

-- Gives room to waiters; self and answer as above. While it is left to others
-- the first waiter is told instead, so that it looks again; if that is self, it
-- is true as the fifth value.
function pass.give(self)
    if not others.let() then
        local _, more, bad, first = pass.announce(self)
        return 0, more, bad, nil, first
    end
    return walk(grant, LOOKS + 1, self)
end

-- Frees what the caller gives up and hands it on. While others are there, the
-- sides take turns: theirs begins when ours is over, and ends here if one of
-- them had the room. The first write is one that a full server does not refuse.
-- Returns 1 if the call must be repeated, and 1 if the server denied something,
-- so that waiters must look for themselves; or nil and the error because of
-- which nothing was done.
function pass.on()
    local served, more = 0, 0
    local waiting = line.is_there()
    local theirs, denied = others.are_next(waiting)
    local refused = room.free()
    if refused then
        return nil, refused
    end

    if theirs then
        others.begin()
    end
    if denied then
        announce(room.next())
    elseif waiting and theirs then
        served, more, denied = pass.announce()
    elseif waiting then
        served, more, denied = pass.give()
    end
    if theirs or served == 0 then
        denied = others.tell() or denied
    end
    return more, denied and 1 or 0
end
