-- SPDX-License-Identifier: MIT
-- part_seek: what an acquire of a lock does unless the name is free: it answers
-- a claim that was given up, or that holds already, and queues one that has to
-- wait. Goes last; the script goes on where nobody holds the name, and it is
-- not left to others.
-- Needs: part_error, part_record, part_clock, part_lease, part_fences,
-- part_line, part_hold, part_void, and the arguments of lock_acquire.

local owner = ARGV[1]
local ask = {ticket = 0, kind = 'x', need = 1, lease = tonumber(ARGV[4]),
    inbox = ARGV[6], reason = ARGV[7]}

clock.look()
if ARGV[8] == '1' and void.refuses(owner) then
    return redis.error_reply('LKVOID the claim was given up')
end

if record.mine then
    local range, bad = {fence = tonumber(record.fence), top = record.top}, nil
    if record.claim ~= owner then
        range, bad = hold.sign(owner, ask)
    end
    return bad or {1, range.fence, redis.call('PTTL', lock), range.top}
end

local slots = redis.call('HMGET', tickets, owner, '#')
local entry = line.unpack(slots[1])

-- Queues the claim, or keeps it in its place. Returns an error or nil.
local function stand()
    if entry then
        return line.touch(owner, entry)
    end
    entry = ask
    return line.append(owner, entry, slots[2])
end

-- Takes the free name. Returns the answer. Who spins is one of the others: if
-- it was their turn, it still is, and they have come.
local function take()
    local open = record.open or 0
    ask.ticket = entry and entry.ticket or 0
    local range, bad = room.take(owner, ask, ask.lease)
    if not bad and entry then
        bad = line.leave(owner)
        if bad then
            room.undo(owner)
        end
    end
    if not bad and open > 0 and ARGV[5] == 's' then
        redis.pcall('HSET', state, 'open', open, 'until', 0, 'came', clock.ms)
    end
    return bad or {1, range.fence, ask.lease, range.top}
end

if record.holder then
    local left = redis.call('PTTL', lock)
    if ARGV[5] == 's' then
        redis.pcall('SET', KEYS[9], '1', 'PX', '1000')
    end
    if ARGV[5] ~= '1' then
        return {2, left}
    end
    return stand() or {0, left, entry.ticket, hold.contends(owner)}
end

-- In the others' turn whoever can queues; the first in the queue looks soon.
-- Who waits and does not queue goes before nobody either, for as long as a turn
-- may last.
local TURN_MS = 500
if (record.open or 0) > 0 and record.came then
    local ago = clock.ms - math.max(record.open, record.came)
    if ARGV[5] == '1' then
        return stand() or {0, -1, entry.ticket, hold.contends(owner)}
    elseif ARGV[5] == 't' and ago >= 0 and ago < TURN_MS then
        return {2, -1}
    end
end
