-- SPDX-License-Identifier: MIT
-- part_counter_taker: taking permits, and whose turn it is to do so.
-- Needs: part_error, part_counter, part_counter_memo, part_clock, part_lease,
-- part_line, and for may, left and contends part_others, and that the clock was
-- looked at.
--
-- A permit that was handed to a client which dies before it hears of it would
-- be gone for ever: nothing ends it. So none is handed over. The next waiter is
-- told `open plain <claim> <ticket> <name>` in its inbox, and takes by itself.

--
-- Who takes and gives back leaves no trace, so that turns cannot be as long as
-- the other side had them. While somebody of Redisson's listens, every other
-- slice of time is theirs alone: ours take nothing then, a try apart.

local taker = {}

-- At most so many waiters are looked at in one call.
local LOOKS = 64
local SLICE_MS = 20

-- Whether what the entry waits for was deleted.
function taker.is_gone(entry)
    return not counter.value or entry.ticket <= record.gone
end

-- Whether there are enough.
function taker.fit(entry)
    return counter.value ~= nil and entry.need <= counter.value
end

-- For so many ms what is free is left to Redisson's; 0: it is not.
local is_left
function taker.left()
    if is_left == nil then
        is_left = math.floor(clock.ms / SLICE_MS) % 2 == 1
            and others.do_listen() or false
    end
    return is_left and SLICE_MS - clock.ms % SLICE_MS or 0
end

-- Whether there are enough, and they are not left to Redisson's.
function taker.may(entry)
    return taker.fit(entry) and taker.left() == 0
end

-- Takes what the entry needs for the claim ARGV[1]. The first write is one that
-- a full server refuses. Returns an error, and then none are taken, or nil.
function taker.take(entry)
    local bad = counter.add(-entry.need)
    if bad then
        return bad
    end
    bad = counter.sign() or made.note(entry.need)
    if bad then
        counter.add(entry.need)
    end
    return bad
end

-- Has a waiter look. Returns an error or nil.
local function announce(claim, entry)
    return entry and failed(redis.pcall('PUBLISH', entry.inbox, string.format(
        'open plain %s %.0f ', claim, entry.ticket) .. lock))
end

-- One step through the queue: done, is it self's turn, an error or nil.
local function look_at(claim, entry, self)
    if not claim then
        return true
    end
    local is_gone = entry and taker.is_gone(entry)
    if claim == self and not is_gone then
        return true, taker.may(entry)
    end
    local alive, bad = nil, nil
    if is_gone then
        announce(claim, entry)
    else
        alive, bad = line.is_alive(entry)
    end
    if alive and taker.fit(entry) then
        bad = announce(claim, entry)
    elseif bad then
        announce(claim, entry) -- perhaps it hears that
    end
    if not alive and not bad then
        bad = line.skip(claim, entry)
    end
    return alive or bad ~= nil, false, bad
end

-- Has the first waiter alive look, if there are enough for it, and skips the
-- dead before it, and those whose counter is gone. self, if not nil, is a claim
-- that is alive; when its turn comes it is not told. Returns true if it has
-- come, 1 if there are more to look at, and an error or nil.
function taker.serve(self)
    if counter.value and counter.value <= 0 and record.gone == 0 then
        return false, 0
    end
    for _ = 1, LOOKS do
        local claim, entry = line.first()
        local done, mine, bad = look_at(claim, entry, self)
        if done then
            return mine, 0, bad
        end
    end
    return false, line.first() and 1 or 0
end

-- Whether a waiter alive is among the first in the queue, or cannot be ruled
-- out. Writes nothing.
function taker.are_wanted()
    local claims = redis.call('ZRANGE', queue, 0, LOOKS)
    for i = 1, #claims do
        if i > LOOKS or line.is_alive(line.find(claims[i])) ~= false then
            return true
        end
    end
    return false
end

-- After so many ms the claim should look, -1: none; and, if it is next: 2 where
-- it is enough, and left to Redisson's for so long; 1 where clients of Redisson
-- are there: nobody tells it of what these give back, so that its client must
-- try for itself. Else 0.
function taker.outlook(claim, entry)
    if redis.pcall('ZRANGE', queue, 0, 0)[1] ~= claim then
        return counter.left(), 0
    elseif entry and taker.fit(entry) and taker.left() > 0 then
        return taker.left(), 2
    end
    return counter.left(), others.are_there() and 1 or 0
end

-- Takes for a waiter whose turn has come, ARGV[1], and has the next one look.
-- What can fail for want of a right comes before what cannot be undone then.
-- Returns an error, and then it waits on, or nil.
function taker.take_turn(claim, entry)
    local bad = line.remove(claim) or taker.take(entry)
    if bad then
        line.restore(claim, entry)
        return bad
    end
    taker.serve()
    return nil
end
