-- SPDX-License-Identifier: MIT
-- forget: remove what is kept of a plain semaphore that is not set.
--
-- set: so many are free, and nobody knows who has the others; nothing was changed.
--
-- Invariants: nothing is removed while somebody waits, nor a key of another type;
-- what no client of ours has used stays. The memo stays for its eleven minutes, in
-- which a change may be sent again; what tells its counter from the next stays for
-- an hour, in a record that is no kind's, and so do fences of another kind. Claims
-- that are void still stay so. A full server does not refuse it.
-- needs: audience counter failed master queue

local HOUR = '3600000'

local bad = master(memo_key) or counter.look({counter = counter_key,
    record = record_key, zset = zset_key})
if bad then
    return bad
end
local heard = audience({channel})
if failed(heard) then
    return heard
end
local waiters = heard[2] + redis.call('ZCOUNT', queue_key, '0',
        '(' .. queue.score(queue.VOID, 0))
if waiters > 0 then
    return {WAITED, waiters}
elseif counter.free then
    return {SET, counter.free}
elseif not counter.is_known then
    return {NOTHING}
end
local is_void = redis.call('ZCOUNT', queue_key, queue.score(queue.VOID, 0),
    '+inf') > 0
-- The counter is not there: nothing is changed if DEL is not allowed.
bad = failed(redis.pcall('DEL', counter_key))
if bad then
    return bad
end
if counter.gone > 0 or counter.was.fence ~= '0' then
    bad = failed(redis.pcall('SET', record_key, counter.text(form.layout_forgotten, counter.gone),
        'PX', HOUR))
else
    bad = failed(redis.pcall('DEL', record_key))
end
if not bad and not is_void then
    redis.pcall('DEL', queue_key)
end
return bad or {DONE}
