-- SPDX-License-Identifier: MIT
-- see: c how many permits there are and how many of them are free; i who holds
-- and who waits, the first 64 of each.
--
-- Invariants: nothing is changed, but a replica refuses it. A permit whose lease
-- has ended counts as free, and is not told. A holder that is none of ours is one
-- permit, in hexadecimal, of fence 0; behind the mode of a revoked one stands v; left -1: it has no end. No nonce is told.
-- needs: add books clock master permits waiting

local MOST, LIST = 64, '999' -- so many permits are looked at, from 0

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key}
local bad = master(holders_key) or books.look(to)
if bad then
    return bad
elseif what == 'c' and not books.free then
    return {UNSET}
elseif what == 'c' then
    return {COUNTED, books.all, books.free + #books.ended(to, interop)}
end

local holders, waiters = {}, {}

local found, ids = redis.call('ZRANGE', zset_key, '0', LIST, 'WITHSCORES'), {}
for i = 1, #found, 2 do
    ids[#ids + 1] = found[i]
end
local texts = #ids > 0 and redis.call('HMGET', holders_key, unpack(ids))
for i = 1, #ids do
    local own = texts[i] and hold.read(texts[i])
    local owner, skew = permits.owner(texts[i])
    local left = found[i * 2] - clock.ms - (skew or 0)
    if #holders < MOST * #group.holder and left > 0 and own then
        add(holders, group.holder({claim = owner, count = tonumber(own.need),
            fence = tonumber(own.fence),
            held = math.max(clock.ms - own.since, 0),
            left = left < 1e13 and left or -1, reason = own.reason,
            mode = own.flag == 'v' and 'pv' or 'p'}))
    elseif #holders < MOST * #group.holder and left > 0 and not owner then
        add(holders, group.holder({claim = permits.hex_of(ids[i]), count = 1,
            fence = 0, held = 0, left = left < 1e13 and left or -1,
            reason = '', mode = 'p'}))
    end
end
local number, entries = waiting.all(queue_key)
for i = 1, #entries do
    waiting.tell(waiters, entries[i], entries[i].mode)
end
return {SEEN, number, holders, waiters}
