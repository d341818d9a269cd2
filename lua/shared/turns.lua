-- SPDX-License-Identifier: MIT
-- turns: who stands in no queue of ours, and whose turn it is.
--
-- A turn is theirs ('t'; 'p' where nobody of theirs is known, and the name is
-- left to whoever may come) or ours ('o'), since a time and for a length: of
-- theirs how long it took until one of them was seen to have the name, -1
-- before. One that began in the future, or too long ago, is over: the clock was
-- set, or nobody came by. `met` is when one of theirs had the name out of turn,
-- `vain` how many of their turns in a row brought nobody.
--
-- A run of hand-overs among ours begins with turn 'o' and length 0: after a
-- second without a break, whoever may spin unseen gets a chance.
-- needs: clock failed has_fair_waiters publish

local turns = {}

-- Longest lengths, in ms, as docs/redisson.md has them.
local LEFT, PROBE, TURN, ALONE, LEAST, COMING = 150, 12, 500, 2000, 10, 10
local MET, VAIN, LATEST = 10000, 2, 5000
local RUN = 1000

-- What the record says; where it says nothing, a turn of ours that is over.
function turns.read(text)
    local it = turn.read(text)
    if not it then
        it = {side = 'o', since = 0, length = 0, met = 0, vain = 0, none = true}
    end
    for _, name in ipairs({'since', 'length', 'met', 'vain'}) do
        it[name] = tonumber(it[name])
    end
    it.over = clock.ms < it.since or clock.ms > it.since + LATEST
    it.theirs = it.side ~= 'o' and not it.over
    return it
end

function turns.write(side, length, met, vain)
    return turn.write({side = side, since = clock.ms, length = length,
        met = met, vain = vain})
end

function turns.is_met(it)
    return clock.is_near(it.met, MET) and it.vain < VAIN
end

-- Whether any of theirs wait so that it can be seen. heard is how many listen
-- on Redisson's channel.
function turns.are_seen(it, interop, heard, spin, fairq, channel)
    return interop == '1' or heard > 0 or turns.is_met(it)
        or redis.call('EXISTS', spin) == 1
        or has_fair_waiters(fairq, channel)
end

-- What a close, or a hand-over, does with a name for which ours wait: the turn
-- of theirs to begin, as text; nil: it is handed on among ours.
function turns.due(it, are_seen)
    if it.theirs then
        return it.length < 0 and turn.write(it) or nil
    elseif are_seen and (it.over or clock.ms >= it.since + it.length) then
        return turns.write('t', -1, it.met, it.vain)
    elseif not are_seen and not it.none and not it.over
            and clock.ms - it.since >= math.max(RUN, it.length) then
        return turns.write('p', -1, it.met, it.vain)
    end
    return nil
end

-- For how long yet a free name is theirs; 0: one of ours may have it.
function turns.left(it, are_seen)
    if not it.theirs then
        return 0
    elseif it.length >= 0 then
        local till = it.since + it.length
            + math.max(LEAST, math.min(it.length - COMING, TURN))
        return are_seen and math.max(till - clock.ms, 0) or 0
    elseif it.side == 'p' and not are_seen then
        return math.max(it.since + PROBE - clock.ms, 0)
    end
    return are_seen and math.max(it.since + LEFT - clock.ms, 0) or 0
end

-- The turn once one of ours has the free name, as text.
function turns.taken(it)
    if not it.theirs then
        if clock.ms < it.since + it.length and not it.over then
            return turn.write(it)
        elseif turns.is_met(it) then
            return turns.write('o', 0, it.met, it.vain)
        end
        return '-'
    elseif it.length >= 0 then
        return turns.write('o', math.min(TURN, math.max(it.length - COMING,
            clock.ms - it.since - it.length)), it.met, 0)
    elseif it.side == 'p' then
        return turns.write('o', 0, it.met, it.vain)
    end
    local vain = math.min(it.vain + 1, 4)
    return turns.write('o', math.max(TURN, ALONE / 2 ^ (4 - vain)), it.met,
        vain)
end

-- The turn once one of ours has handed the name to another, as text.
function turns.handed(it)
    if it.theirs then
        return turns.taken(it)
    elseif it.none or it.over then
        return turns.write('o', 0, it.met, it.vain)
    end
    return turn.write(it)
end

-- The turn where one of theirs is seen to have the name; nil: as it was.
function turns.seen(it)
    if it.theirs and it.length < 0 then
        local is_new = it.side == 'p' or turns.is_met(it)
        return turn.write({side = 't', since = it.since,
            length = clock.ms - it.since, met = is_new and clock.ms or it.met,
            vain = it.side == 'p' and 0 or it.vain})
    elseif not it.theirs and not clock.is_near(it.met, RUN) then
        return turn.write({side = 'o', since = it.since, length = it.length,
            met = clock.ms, vain = 0})
    end
    return nil
end

-- Tells Redisson's waiters that the name is free, in its way.
function turns.tell(fairq, channel)
    local head = redis.pcall('LINDEX', fairq, '0')
    if type(head) == 'string' then
        publish(channel .. ':' .. head, '0')
    end
    return publish(channel, '0')
end
