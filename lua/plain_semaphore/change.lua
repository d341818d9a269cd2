-- SPDX-License-Identifier: MIT
-- change: all that is done to a counter, but for taking and waiting.
--
-- what  s  set it to amount where none is set, for ttl ms, 0: for ever
--       a  give amount back, add it, or, below 0, take it away; must 1: only if
--          something is set
--       d  take all that are free
--       x  make it unset, and send its waiters away
--
-- op is the change's own number; settled as in acquire. taken: by d; below 0 if so
-- many were owed. more: a touch has to go on. denied: the server denied something,
-- and waiters must look for themselves. before: it was set. range: it would leave
-- that of 32 bits. unset: nothing is set.
--
-- Invariants: sent again it changes nothing more, and answers the same, whatever
-- became of the counter; more and denied are told once. The counter's time stays.
-- What sets a counter is refused by a full server before anything is written, and
-- nothing else. A waiter for one that is made unset takes nothing of the next.
-- needs: clock counter dismiss failed line memo queue room

local MOST = 2147483647

local to = {counter = counter_key, record = record_key, queue = queue_key,
    memo = memo_key, zset = zset_key, channel = channel, db = db,
    life = tonumber(life)}
local bad = counter.look(to)
if bad then
    return bad
end
counter.recall(to, op)
local free, n = counter.free, tonumber(amount)
if counter.count then
    return dismiss({DONE, what == 'd' and counter.count or 0, 0, 0}, op,
        settled)
elseif free and what == 's' then
    return dismiss({BEFORE}, op, settled)
elseif not free and what ~= 's' and (what ~= 'a' or must == '1') then
    return dismiss({UNSET}, op, settled)
elseif what == 'a' and (n > 0 and (free or 0) + n > MOST
        or n < 0 and (free or 0) + n < -MOST) then
    return dismiss({RANGE}, op, settled)
elseif what == 'd' then
    n = -free
end

-- The last ticket that stands in a band; 0: none.
local function last_of(band)
    local last = redis.call('ZREVRANGEBYSCORE', queue_key,
        '(' .. queue.score(band + 1, 0), queue.score(band, 0), 'WITHSCORES',
        'LIMIT', '0', '1')[2]
    return last and select(2, queue.parts(tonumber(last))) or 0
end

local found, denied = {parked = {}, told = {}, more = 0}, nil
local gone = what == 'x' and math.max(math.floor(clock.us / 16),
    counter.gone + 1, last_of(1), last_of(queue.PARKED)) or counter.gone
if what ~= 'd' then
    found, denied = room.find(to, what ~= 'x' and (free or 0) + n or nil, gone,
        {}, {}, nil)
end

-- Changes the number. Returns an error, and then it is as it was, or nil.
local function count()
    if what ~= 's' then
        return counter.add(to, n)
    end
    local done = tonumber(ttl) > 0
        and redis.pcall('SET', counter_key, amount, 'PX', ttl)
        or redis.pcall('SET', counter_key, amount)
    counter.free = not failed(done) and n or nil
    return failed(done)
end

local function recount()
    if free then
        counter.add(to, -n)
    else
        redis.pcall('DEL', counter_key)
    end
end

-- Removes the counter, and with it what those wait for whose ticket is not above
-- gone. Returns an error, and then it is as it was, or nil.
local function remove()
    local refused = counter.write(to, gone)
    if refused then
        return refused
    end
    refused = failed(redis.pcall('DEL', counter_key))
    if not refused then
        counter.free, counter.gone = nil, gone
    else
        counter.write(to, counter.gone)
    end
    return refused
end

bad = free and memo.open() or nil
if not bad and what == 'x' then
    bad = counter.record(to, 0)
    if not bad then
        bad = remove()
        if bad then
            memo.drop()
        end
    end
elseif not bad then
    bad = count()
    if not bad then
        bad = counter.record(to, what == 'd' and free or n)
        if bad then
            recount()
        end
    end
end
if bad then
    return bad
end
if what == 's' or what == 'a' then
    denied = counter.tell(channel) or denied
end
denied = room.tell(to, found, counter.free) or denied
denied = line.park(queue_key, found) or denied
return dismiss({DONE, what == 'd' and free or 0, found.more,
    denied and 1 or 0}, op, settled)
