-- SPDX-License-Identifier: MIT
-- sides: taking turns with Redisson's waiters, who stand in no queue of ours.
--
-- Theirs ('t') begins where a release of ours finds one of them, and ends when one
-- of ours has got a permit. Then ours ('o') hand over among themselves for a
-- while.
-- needs: clock

local sides = {}

-- Our turn is no longer, in ms.
local TURN = 500

-- What the record says. What began in the future was written by a clock that was
-- set back since: a turn of theirs began long ago, and ours is over.
function sides.read(text)
    local it = turn.read(text) or {side = '-', since = '0', length = '0'}
    it.text = text
    it.since, it.length = tonumber(it.since), tonumber(it.length)
    if it.since > clock.ms then
        it.since = it.side == 't' and clock.ms - 1000 or 0
    end
    it.is_ours = it.side == 'o' and clock.ms < it.since + it.length
    return it
end

local function write(side, length)
    return turn.write({side = side, since = string.format('%.0f', clock.ms),
        length = length, met = '0', vain = '0'})
end

-- Whether what becomes free is left to them: the turn, as text; nil: it is not.
-- are_seen: some of them listen.
function sides.due(it, are_seen)
    if not are_seen or it.is_ours then
        return nil
    end
    return it.side == 't' and it.text or write('t', '-1')
end

-- The turn once one of ours has got permits: half as long as theirs was, and
-- longer the fewer of all the permits ours have.
function sides.taken(it, all, ours)
    if it.side ~= 't' then
        return it.is_ours and it.text or '-'
    end
    local share = math.max(all / math.max(ours, 1), 1) - 0.5
    return write('o', string.format('%.0f', math.floor(math.min(
        math.max(clock.ms - it.since, 0) * share, TURN))))
end
