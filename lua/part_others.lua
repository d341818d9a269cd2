-- SPDX-License-Identifier: MIT
-- part_others: who stands in no queue of ours: Redisson's waiters, its fair
-- queue, and clients that spin; and their turn.
-- Needs: part_error, part_clock, record.traces or nil: keys that exist while
-- others are there, record.fairq or nil: the key of Redisson's fair queue,
-- record.met or nil, record.run and .ticket or nil, the arguments owner,
-- channel, interop; for a turn part_lease, record.open, .till, .kept, .came,
-- .alone, and .sees, with .theirs and room.set_turn(), or nil; and for tell
-- part_pass' room.
--
-- Their turn is on while record.open, when it began, is not 0. It may be seen
-- whether they come: with record.sees 'all' whoever they are, with 'spin' in a
-- turn that began while one of ours spun. record.theirs says that whoever has
-- the name is one of them if that is so. The state's field `came` is when one
-- of them was first seen to have it in their turn; 0: none was yet; -1: it is
-- not seen. Its field `alone` is how many turns of theirs in a row were in
-- vain: none of them came.
--
-- A client that spins in Redisson's way leaves no trace. So one that had the
-- name though it was not their turn, at the time of the state's field `met`, is
-- taken for there, for some seconds, until two turns in a row were in vain: a
-- client that spins would have come.
--
-- Nor does it ever find the name free while ours hand it over. So where they
-- have done that for RUN_MS, since the time of the state's field `run`, and
-- nobody is known, a turn of theirs is begun all the same, a short one; in it
-- the field is 0. Whoever comes in it is met.

local others = {}

-- So long a free name is theirs alone, if none of them comes: a little more
-- than the longest pause of Redisson's spin lock.
local LEFT_MS = 150
-- Our turn is no longer; but from the third turn of theirs on that is in vain
-- it is twice as long each time, up to the other.
local TURN_MS, ALONE_MS = 500, 2000
-- So long is one that was met taken for there, unless it did not come so often.
local MET_MS, IN_VAIN = 10000, 2
-- When they have come, it is theirs for so long at least, while some listen, or
-- for as long as it took them: to go from side to side costs a wake-up, and a
-- client passes on for as long.
local LEAST_MS = 10
-- Coming may take them so long; what the name is free beyond that is lost.
local COMING_MS = 10
-- So long ours hand over without a break, and so long the name is left then to
-- whoever may spin unseen; our first waiter looks some ms later. One that spins
-- sleeps for up to LEFT_MS, so it may take several of these.
local RUN_MS, PROBE_MS = 1000, 12

-- What was noted by a clock that was set back since says nothing of now: a turn
-- of theirs began long ago, and ours, which is never longer than ALONE_MS, is
-- over.
local function bound(turn)
    local open, came, till = turn.open or 0, turn.came or 0, turn.till or 0
    if open > 0 or till > 0 then
        clock.look()
        turn.open = open > clock.ms and clock.ms - 1000 or turn.open
        turn.came = came > clock.ms and clock.ms - 1000 or turn.came
        turn.till = till <= clock.ms + ALONE_MS and turn.till or 0
    end
end
bound(record)

-- How many turns of theirs in a row were in vain.
local in_vain = record.alone or 0

-- Whether one of theirs was met lately.
local function is_met()
    if not record.met or in_vain >= IN_VAIN then
        return false
    end
    clock.look()
    return math.abs(clock.ms - record.met) < MET_MS
end

-- Whether their turn is one that was begun though nobody is known.
local is_probe = record.run == 0 and (record.open or 0) > 0

-- In their turn, where it is seen whether they come: `came` as it was. What
-- comes while one is taken for there may be that one.
local came
if (record.open or 0) > 0 and (record.came or -1) >= 0 then
    came = record.came
    if came == 0 and record.theirs then
        clock.look()
        redis.pcall('HSET', state, 'came', clock.ms, 'met',
            (is_probe or is_met()) and clock.ms or record.met or 0)
        if is_probe then
            redis.pcall('HSET', state, 'alone', 0)
        end
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

-- Whether somebody of Redisson's waits and listens; nil and an error if the
-- server would not say.
local function has_listeners()
    local counts = redis.pcall('PUBSUB', 'NUMSUB', ARGV[2])
    if failed(counts) then
        return nil, counts
    end
    return counts[2] > 0 or has_fair_waiters()
end

others.do_listen = has_listeners

-- True if there are any, false if not, nil and an error if the server would
-- not say.
function others.are_there()
    if ARGV[3] == '1' or is_met() or record.traces
            and redis.call('EXISTS', unpack(record.traces)) > 0 then
        return true
    end
    return has_listeners()
end

-- Whether ours have handed over for so long that somebody unseen may wait.
local function is_due()
    return record.run and record.ticket ~= '0'
        and clock.ms - record.run >= RUN_MS
end

local probes = false -- what is next is their turn though nobody is known

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
    probes = there == false and waiting and is_due()
    return (there or probes) and not came and clock.ms >= (record.till or 0),
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
    if probes then
        redis.pcall('HSET', state, 'run', 0)
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

-- Has our turn be so long when theirs has ended. Notes how many were in vain.
local function set_turn(ms, alone)
    room.set_turn(ms)
    if alone ~= in_vain then
        redis.pcall('HSET', state, 'alone', alone)
        in_vain = alone
    end
end

-- Where they have come: until when the name is theirs yet, while some listen.
local function theirs_till()
    return came + math.max(LEAST_MS,
        math.min(came - record.open - COMING_MS, TURN_MS))
end

local left_ms = LEFT_MS -- so long a name is left to those who do not come

-- Whether one of ours may have what is free. Their turn ends with that, and
-- ours begins: it is as long as they had the name, or as it was free for them
-- before, if that is longer. If not, others.left() says for how long yet.
function others.let()
    if not came then
        return true
    end
    clock.look()
    if came > 0 and clock.ms < theirs_till() and has_listeners() then
        return false
    elseif came > 0 then
        set_turn(math.min(TURN_MS, math.max(clock.ms - came,
            came - record.open - COMING_MS)), 0)
    elseif clock.ms < record.open + LEFT_MS and others.are_there() then
        return false
    elseif is_probe then
        left_ms = PROBE_MS
        return clock.ms >= record.open + PROBE_MS
    else
        local alone = math.min(in_vain + 1, 4)
        set_turn(math.max(TURN_MS, ALONE_MS / 2 ^ (4 - alone)), alone)
    end
    return true
end

-- For how long yet the free name is theirs.
function others.left()
    local till = came > 0 and theirs_till() or record.open + left_ms
    return math.max(till - clock.ms, 0)
end

-- Tells them that there is room, in Redisson's way. Returns an error or nil.
function others.tell()
    local word = room.word()
    return word and failed(redis.pcall('PUBLISH', ARGV[2], word))
end
