-- SPDX-License-Identifier: MIT
-- keep: lengthen a hold, see whether it is still the one that the client means,
-- and whether anybody waits.
--
-- code: 0 it holds nothing, or not all that it had, 3 the same claim under another
-- fence, 4 it was revoked.
--
-- Invariants: a lease is only lengthened, a permit is made only where the zset is
-- gone. On a mismatch nothing changes. A full server does not refuse it.
-- needs: audience books clock failed permits queue

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key}
local bad = books.look(to)
if bad then
    return bad
end
books.recover(to)
local it
it, bad = permits.find(to, claim)
if bad then
    return bad
elseif not it or not it.till then
    return {LOST, 0}
elseif it.fence ~= fence then
    return {LOST, 3}
elseif it.flag == 'v' then
    return {LOST, 4}
end
-- Below 8 x 2^48: neither the parked nor the void.
local counts = audience({channel})
local waits = interop == '1' or failed(counts) or counts[2] > 0
    or redis.pcall('ZCOUNT', queue_key, '0', '(2251799813685248') ~= 0

local ms, short = lease + it.skew, {}
local score = clock.ms + ms
for i = 1, #it.ids do
    if tonumber(it.scores[i]) < score then
        short[#short + 1] = queue.text(score)
        short[#short + 1] = it.ids[i]
    end
end
local left = redis.call('PTTL', holders_key)
-- The zset ends with the counter, whatever its scores say. One that ends alone is put
-- back by whoever looks next.
local ends = redis.call('PTTL', counter_key) == -1 and -1
    or redis.call('PTTL', zset_key)
bad = failed(redis.pcall('PEXPIRE', holders_key, queue.text(math.max(left,
    ms + life))))
if not bad and #short > 0 then
    bad = failed(redis.pcall('ZADD', zset_key, 'XX', unpack(short)))
end
if bad then
    return bad
end
books.sums.ends = queue.text(math.max(books.sums.ends, score))
books.note(to, {}, ms + life)
local kept = math.max(it.till - clock.ms, tonumber(lease))
return {KEPT, ends >= 0 and math.min(ends, kept) or kept, waits and 1 or 0}
