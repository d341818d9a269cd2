-- SPDX-License-Identifier: MIT
-- part_hold: making a claim the owner of a free name, and the lock's room.
-- Needs: part_error, part_record, part_clock, part_lease, part_fences,
-- part_line.
--
-- An entry is what a claim asks for: ticket (0: it never queued), lease in ms,
-- inbox, reason.

local hold = {}

-- Our turn is not longer, if nobody has said else.
local TURN_MS = 500
-- So often it is noted that others have the name.
local MET_MS = 1000
local turn_ms

-- If a turn of the others ends with the next grant, ours is so long.
function hold.set_turn(ms)
    turn_ms = ms
end

-- Writes the record of a grant. A turn of the others that was open ends here:
-- if nobody has said else, this side keeps the name for half as long as they
-- had it. Since the end of such a turn, or of a grant of the free name, ours
-- hand it over: see part_others. What the name was before it is not any more: a
-- lock's record names no kind. Numbers are passed as such: Redis writes them
-- out in full, Lua's own conversion does not.
local function write_record(claim, entry, range)
    local open, till = record.open or 0, record.till or 0
    local run = record.run
    if open > 0 then
        local ms = math.min(math.max(clock.ms - open, 0) / 2, TURN_MS)
        till = clock.ms + math.floor(turn_ms or ms)
    end
    if open > 0 or entry.ticket > 0
            and (not run or run > clock.ms or record.ticket == '0') then
        run = clock.ms
    end
    return failed(redis.pcall('HSET', state, 'v', '1', 'fence', range.fence,
        'top', range.top, 'claim', claim, 'ticket', entry.ticket,
        'since', clock.ms, 'lease', entry.lease, 'inbox', entry.inbox,
        'reason', entry.reason, 'open', 0, 'until', till,
        run and 'run' or 'open', run or 0))
        or record.kind and failed(redis.pcall('HDEL', state, 'kind')) or nil
end

-- Gives a holder whose record is void a new one. Returns its fences as
-- fences.next does, or nil and an error.
function hold.sign(claim, entry)
    local range, bad = fences.next()
    if not range then
        return nil, bad
    end
    bad = write_record(claim, entry, range)
    if not bad then
        bad = lease.keep(state, record.kept, entry.lease)
        if bad and not record.kept then
            redis.pcall('DEL', state) -- a state without a TTL would stay
        end
    end
    bad = bad or fences.tell(range.top, range.count)
    if bad then
        return nil, bad
    end
    return range
end

-- Makes the name free again after a grant that could not be finished.
function hold.undo(claim)
    if failed(redis.pcall('DEL', lock)) then
        redis.pcall('HDEL', lock, claim)
    end
end

-- Makes claim the owner of the free name for ms. Returns its fences; or nil
-- and an error, and then the name is as free as before.
function hold.take(claim, entry, ms)
    local bad = failed(redis.pcall('HSET', lock, claim, '1'))
    if bad then
        return nil, bad
    end
    bad = failed(redis.pcall('PEXPIRE', lock, ms))
    local range
    if not bad then
        range, bad = hold.sign(claim, entry)
    end
    if bad then
        hold.undo(claim)
        return nil, bad
    end
    return range
end

-- Notes that one of the others has the name, who came though it was not their
-- turn: somebody who is seen to wait has one. The record of another kind stays
-- as it is.
local function meet()
    if record.kind or (record.open or 0) > 0
            or math.abs(clock.ms - (record.met or 0)) < MET_MS then
        return
    end
    local bad = failed(redis.pcall('HSET', state, 'v', '1', 'met', clock.ms,
        'alone', 0)) or lease.keep(state, record.kept, 0)
    if bad and not record.kept then
        redis.pcall('DEL', state) -- a state without a TTL would stay
    end
end

-- If claim is next: 1 where the name is held by somebody who will never hand it
-- over, 2 where it lies free for the others. Then its client must try for
-- itself. Else 0.
function hold.contends(claim)
    if record.holder and record.holder == record.claim
            or redis.pcall('ZRANGE', queue, 0, 0)[1] ~= claim then
        return 0
    elseif not record.holder then
        return 2
    end
    meet()
    return 1
end

-- What part_pass has to know of a lock: there is room for one.
local room = {family = 'lock', set_turn = hold.set_turn}
local is_held = record.holder ~= nil

-- The waiter that is to be served now, and its entry; nil: none.
function room.next()
    if not is_held then
        return line.first()
    end
    return nil
end

function room.take(claim, entry, ms)
    local range, bad = hold.take(claim, entry, ms)
    is_held = range ~= nil
    return range, bad
end

function room.undo(claim)
    hold.undo(claim)
    is_held = false
end

-- Makes the name free. Returns an error or nil.
function room.free()
    local bad = failed(redis.pcall('DEL', lock))
    is_held = bad ~= nil
    return bad
end

-- What Redisson's channel is told, which its fair queue does not hear.
function room.word()
    local head = redis.pcall('LINDEX', KEYS[8], 0)
    if type(head) == 'string' then
        redis.pcall('PUBLISH', ARGV[2] .. ':' .. head, '0')
    end
    return '0'
end
