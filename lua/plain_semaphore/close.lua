-- SPDX-License-Identifier: MIT
-- close: end a claim, whatever became of it: a waiter leaves the queue, and what it
-- took is given back.
--
-- own is the claim's member; with stone it may not acquire any more. was: 0 it
-- neither took nor waited, 1 it waited, 2 it had taken. more: a touch has to go on.
-- denied: the server denied something, and waiters must look for themselves.
--
-- Invariants: afterwards the claim neither waits nor has taken anything. It is given
-- back once, and only to the counter that it was taken from. A full server does not
-- refuse it.
-- needs: counter dismiss line memo queue room

local to = {counter = counter_key, record = record_key, queue = queue_key,
    memo = memo_key, zset = zset_key, channel = channel, db = db}
local bad = counter.look(to)
if bad then
    return bad
end
counter.recall(to, claim)
local score = redis.call('ZSCORE', queue_key, own)
if score and queue.parts(tonumber(score)) == queue.VOID then
    score = false -- it stays void
end
local was = counter.count and 2 or score and 1 or 0
local amount = was == 2 and counter.free and counter.of == counter.gone
    and counter.count or 0
local found, denied = {parked = {}, told = {}, more = 0}, nil
if was > 0 then
    found, denied = room.find(to, counter.free and counter.free + amount,
        counter.gone, {}, {}, own)
end

-- Gives back what it took, or, if it may not be forgotten, nothing.
local function give_back()
    local refused = memo.open()
        or amount ~= 0 and counter.add(to, amount) or nil
    if refused then
        return refused
    end
    refused = memo.drop()
    if refused and amount ~= 0 then
        counter.add(to, -amount)
    end
    return refused
end

bad = line.leave(queue_key, own, score, stone)
if not bad and was == 2 then
    bad = give_back()
end
if bad then
    return bad
elseif was == 0 then
    return dismiss({CLOSED, 0, 0, 0}, claim, settled)
end
denied = was == 2 and counter.free and counter.tell(channel) or denied
denied = room.tell(to, found, counter.free) or denied
denied = line.park(queue_key, found) or denied
if not stone then
    line.drop(queue_key)
end
return dismiss({CLOSED, was, found.more, denied and 1 or 0}, claim, settled)
