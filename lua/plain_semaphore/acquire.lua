-- SPDX-License-Identifier: MIT
-- acquire: take permits if there are enough and nobody alive waits for some, else
-- queue for them.
--
-- how: q queues, t tries. own is the claim's member, which says how many. settled:
-- numbers of this client's changes that it will not ask for again. left: after so
-- many ms the counter ends, -1: it does not; 0: a touch has to go on. next 1: it is
-- the first, and Redisson's clients are there, which will not tell it; 2: it is the
-- first, and what is free is left to them for another left ms. unset: no number is
-- set. gone: it was queued, and what it waited for is gone.
--
-- Invariants: it takes as much as it asks for or nothing. Sent again it takes
-- nothing more and gives no second ticket. A full server refuses it before anything
-- is written. Nobody alive who waits is passed by.
-- needs: clock counter dismiss failed line queue room ticket

local to = {counter = counter_key, record = record_key, queue = queue_key,
    memo = memo_key, zset = zset_key, channel = channel, db = db,
    interop = interop, life = tonumber(life)}
local bad = counter.look(to)
if bad then
    return bad
end
counter.recall(to, claim)
local score = redis.call('ZSCORE', queue_key, own)
local it = queue.entry(own, score or '0')
if score and it.band == queue.VOID then
    return redis.error_reply('LKVOID the claim was given up')
elseif counter.count then
    return dismiss({TAKEN}, claim, settled)
elseif score and room.is_gone(it) then
    bad = failed(redis.pcall('ZREM', queue_key, own))
    return bad or dismiss({GONE}, claim, settled)
elseif not counter.free then
    return dismiss({UNSET}, claim, settled)
end

-- Whether its turn has come.
local need = tonumber(it.need)
local found, denied = room.find(to, counter.free, counter.gone, {[own] = true},
    {}, nil)
local is_first = found.more == 0 and not denied
    and (not found.head or found.head.text == own)
local takes = is_first and need <= counter.free
    and (how ~= 'q' or room.left(to) == 0)
if not takes and how ~= 'q' then
    return dismiss({BUSY, counter.left(to)}, claim, settled)
elseif takes and score then
    found = room.find(to, counter.free - need, counter.gone, {}, {}, own)
    -- Its place was there before the server was full.
    bad = failed(redis.pcall('PEXPIRE', queue_key, queue.LIFE))
    if not bad then
        line.park(queue_key, found)
        bad = room.take(to, it, true)
    end
    if bad then
        return bad
    end
    room.tell(to, found, counter.free)
    return dismiss({TAKEN}, claim, settled)
elseif takes then
    bad = room.take(to, it, false)
    if bad then
        return bad
    elseif how == 'q' then
        line.park(queue_key, found)
    end
    return dismiss({TAKEN}, claim, settled)
end

-- It waits.
local left, next_up = room.outlook(to, it, is_first)
if not score then
    local at, is_new
    it.ticket, at, is_new = ticket(queue_key, clock.us, counter.gone,
        queue.score(1, 0), queue.score(2, 0))
    if not it.ticket then
        return at
    end
    bad = failed(redis.pcall('ZADD', queue_key, 'NX', at, own))
        or is_new and failed(redis.pcall('PEXPIRE', queue_key, queue.LIFE))
        or counter.sign(to)
    if bad then
        redis.pcall('ZREM', queue_key, own)
        return bad
    end
    if it.ticket * 16 > clock.us + 1000000 then
        -- A ticket ahead of the clock is no sign of life.
        redis.pcall('ZADD', queue_key, queue.text(-clock.ms),
            string.match(claim, '^(.*):'))
    end
end
line.park(queue_key, found)
if not is_first then
    room.tell(to, found, counter.free)
end
return dismiss({QUEUED, found.more == 1 and 0 or left, it.ticket, next_up},
    claim, settled)
