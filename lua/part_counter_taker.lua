-- SPDX-License-Identifier: MIT
-- part_counter_taker: taking permits, and whose turn it is to do so.
-- Needs: part_error, part_counter, part_counter_memo, part_clock, part_lease,
-- part_line, and for contends part_others.
--
-- A permit that was handed to a client which dies before it hears of it would
-- be gone for ever: nothing ends it. So none is handed over. The next waiter is
-- told `open plain <claim> <ticket> <name>` in its inbox, and takes by itself.

local taker = {}

-- At most so many waiters are looked at in one call.
local LOOKS = 64

-- Whether what the entry waits for was deleted.
function taker.is_gone(entry)
    return not counter.value or entry.ticket <= record.gone
end

-- Whether there are enough.
function taker.fit(entry)
    return counter.value ~= nil and entry.need <= counter.value
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
        return true, taker.fit(entry)
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

-- 1 if the claim is next, and clients of Redisson are there: nobody tells it of
-- what these give back, so that its client must try for itself.
function taker.contends(claim)
    local is_next = redis.pcall('ZRANGE', queue, 0, 0)[1] == claim
    return is_next and others.are_there() and 1 or 0
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
