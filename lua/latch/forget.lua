-- SPDX-License-Identifier: MIT
-- forget: remove what is kept of a latch that is open, or that nobody waits for,
-- its count as well.
--
-- Invariants: nothing is removed while somebody waits, or has not been told yet
-- that it opened, nor a key of another
-- type; what no client of ours has used stays. It is never taken for open because
-- its count is gone: the record goes with it, and the next generation has a
-- larger number by the server's clock. Fences of another kind stay for an hour.
-- The memo stays for its eleven minutes, in which a change may be sent again. A
-- full server does not refuse it.
-- needs: audience failed past generation waiting master

local HOUR = '3600000'

local bad = master(record_key)
if bad then
    return bad
end
local it
it, bad = generation.read(count_key, record_key, arrived_key)
if not it then
    return bad
end
redis.call('ZCARD', arrived_key)
local waiters = waiting.all(queue_key)
local counts = audience({news, channel})
if failed(counts) then
    return counts
end
if it.phase ~= 'open' or it.news then -- an opening that nobody was told of yet
    waiters = math.max(waiters, counts[2] + counts[4])
end
if waiters > 0 then
    return {WAITED, waiters}
end
if not it.known then
    return {NOTHING}
end
redis.call('DEL', queue_key)
-- Where the slot is half moved, what was removed cannot be written any more.
local stays = it.was.fence ~= '0'
bad = stays and failed(redis.pcall('SET', record_key,
    record.write(past.none(form.layout_forgotten, it.was.fence, it.was.spare)),
    'PX', HOUR))
if bad then
    return bad
end
if not stays then
    redis.call('DEL', record_key)
end
redis.call('DEL', count_key, arrived_key)
return {DONE}
