-- SPDX-License-Identifier: MIT
-- part_others: who stands in no queue of ours: Redisson's waiters, its fair
-- queue, and clients that spin; and their turn.
-- Needs: part_error, record.traces or nil: keys that exist while others are
-- there, record.fairq or nil: the key of Redisson's fair queue, the arguments
-- owner, channel, interop; for a turn part_clock,
-- part_lease, record.open, .till, .kept, .came, and .sees, with .theirs and
-- room.set_turn(), or nil; and for tell part_pass' room.
--
-- Their turn is on while record.open, when it began, is not 0. It may be seen
-- whether they come: with record.sees 'all' whoever they are, with 'spin' in a
-- turn that began while one of ours spun. record.theirs says that whoever has
-- the name is one of them if that is so. The state's field `came` is when one
-- of them was first seen to have it in their turn; 0: none was yet; -1: it is
-- not seen.

local others = {}

-- So long a free name is theirs alone, if none of them comes: a little more
-- than the longest pause of Redisson's spin lock.
local LEFT_MS = 150
-- Our turn after one of theirs in which none came.
local ALONE_MS = 500
-- Coming may take them so long; what the name is free beyond that is lost.
local COMING_MS = 10

-- What was noted by a clock that was set back since says nothing of now: a turn
-- of theirs began long ago, and ours, which is never longer than 500 ms, is
-- over.
local function bound(turn)
    local open, came, till = turn.open or 0, turn.came or 0, turn.till or 0
    if open > 0 or till > 0 then
        clock.look()
        turn.open = open > clock.ms and clock.ms - 1000 or turn.open
        turn.came = came > clock.ms and clock.ms - 1000 or turn.came
        turn.till = till <= clock.ms + 500 and turn.till or 0
    end
end
bound(record)

-- In their turn, where it is seen whether they come: `came` as it was.
local came
if (record.open or 0) > 0 and (record.came or -1) >= 0 then
    came = record.came
    if came == 0 and record.theirs then
        clock.look()
        redis.pcall('HSET', state, 'came', clock.ms)
    end
end
others.came = came

-- Whether one of ours spins.
local function has_spinners()
    return redis.pcall('EXISTS', KEYS[9]) == 1
end

-- Whether one of the first in Redisson's fair queue listens. Those who died
-- stay in it for good if nobody of theirs comes any more.
local function has_fair_waiters()
    local owners = record.fairq and redis.pcall('LRANGE', record.fairq, 0, 15)
    if not owners or failed(owners) or #owners == 0 then
        return false
    end
    for i = 1, #owners do
        owners[i] = ARGV[2] .. ':' .. owners[i]
    end
    local counts = redis.pcall('PUBSUB', 'NUMSUB', unpack(owners))
    for i = 2, #counts, 2 do
        if counts[i] > 0 then
            return true
        end
    end
    return failed(counts) ~= nil
end

-- True if there are any, false if not, nil and an error if the server would
-- not say.
function others.are_there()
    if ARGV[3] == '1' then
        return true
    end
    local counts = redis.pcall('PUBSUB', 'NUMSUB', ARGV[2])
    if failed(counts) then
        return nil, counts
    end
    return counts[2] > 0
        or record.traces
        and redis.call('EXISTS', unpack(record.traces)) > 0
        or has_fair_waiters()
end

-- Whether what becomes free is left to them; nil and an error if ours wait and
-- the server would not say. Where they have come, or are still waited for, it
-- is for others.let() to say.
function others.are_next(waiting)
    if not waiting and not record.sees
            or not waiting and record.sees == 'spin' and not has_spinners() then
        return false
    end
    clock.look()
    local there, bad = others.are_there()
    return there and not came and clock.ms >= (record.till or 0),
        waiting and bad or nil
end

-- Begins their turn, unless it is on.
function others.begin()
    if (record.open or 0) > 0 then
        return
    end
    redis.pcall('HSET', state, 'v', '1', 'open', clock.ms)
    if record.sees then
        redis.pcall('HSET', state, 'came',
            (record.sees == 'all' or has_spinners()) and 0 or -1)
    end
    lease.keep(state, record.kept, 0)
end

-- Notes that one of ours who spins has the name in their turn, which goes on as
-- it was before the grant.
function others.come()
    if (record.open or 0) > 0 then
        redis.pcall('HSET', state, 'open', record.open, 'until', 0, 'came',
            (came or 0) > 0 and came or clock.ms)
    end
end

-- Whether one of ours may have what is free. Their turn ends with that, and
-- ours begins: it is as long as they had the name, or as it was free for them
-- before, if that is longer.
function others.let()
    if not came then
        return true
    end
    clock.look()
    if came > 0 then
        room.set_turn(math.max(clock.ms - came,
            came - record.open - COMING_MS))
    elseif clock.ms < record.open + LEFT_MS and others.are_there() then
        return false
    else
        room.set_turn(ALONE_MS)
    end
    return true
end

-- For how long yet the free name is theirs.
function others.left()
    return math.max(record.open + LEFT_MS - clock.ms, 0)
end

-- Tells them that there is room, in Redisson's way. Returns an error or nil.
function others.tell()
    local word = room.word()
    return word and failed(redis.pcall('PUBLISH', ARGV[2], word))
end
