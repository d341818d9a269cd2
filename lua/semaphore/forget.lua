-- SPDX-License-Identifier: MIT
-- forget: remove what is kept of a semaphore that nobody uses, its number of
-- permits as well.
--
-- held: by this owner, or, if it is Redisson's, of this permit; left -1: without an
-- end.
--
-- Invariants: nothing is removed while somebody holds or waits, nor a key of
-- another type; what no client of ours has used stays. A permit counts as taken
-- until ten seconds after its lease: Redisson's hosts go by clocks of their own.
-- One of ours that is missing, because somebody deleted the zset, counts as well.
-- Claims that are void still stay so. Fences do not go back: the last one stays
-- for an hour, in a record that is no kind's. A full server does not refuse it.
-- needs: audience books failed clock past permits queue master

local HOUR = '3600000'

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key}
local bad = master(holders_key) or books.look(to)
if bad then
    return bad
end
local heard = audience({channel})
if failed(heard) then
    return heard
end
local waiters = heard[2] + redis.call('ZCOUNT', queue_key, '0',
        '(' .. queue.score(queue.VOID, 0))
local known = redis.call('HLEN', holders_key)
local last = redis.call('ZREVRANGE', zset_key, '0', '0', 'WITHSCORES')
local left = tonumber(last[2]) and last[2] - clock.ms
if left and left > -permits.SKEW then
    return {HELD, permits.owner(redis.call('HGET', holders_key, last[1]))
        or permits.hex_of(last[1]), left < 1e13 and math.max(left, 0) or -1}
elseif known > 0 and (books.all or 0) < tonumber(books.sums.number) then
    local owner = permits.owner(redis.call('HVALS', holders_key)[1])
    return {HELD, owner or '', redis.call('PTTL', holders_key)}
elseif waiters > 0 then
    return {WAITED, waiters}
elseif not books.is_known then
    return {NOTHING}
end
local keys = {counter_key, zset_key, holders_key}
if redis.call('ZCOUNT', queue_key, queue.score(queue.VOID, 0), '+inf') == 0 then
    keys[4] = queue_key
end
redis.call('DEL', unpack(keys))
redis.pcall('SET', record_key,
    record.write(past.none(form.layout_forgotten, books.was.fence,
        books.was.spare)), 'PX', HOUR)
return {DONE}
