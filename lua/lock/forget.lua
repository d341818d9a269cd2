-- SPDX-License-Identifier: MIT
-- forget: remove what is kept of a lock that nobody uses.
--
-- Invariants: nothing is removed while somebody holds or waits, nor a key of
-- another type; what is Redisson's stays. Claims that are void still stay so,
-- with the queue that they are in. Fences do not go back: the last one stays for
-- an hour, in a record that is no kind's. A full server does not refuse it. Sent
-- again it finds nothing.
-- needs: audience failed past holder queue

local HOUR = '3600000'

local bad = failed(redis.pcall('ZREM', queue_key, ''))
if bad then
    return bad
end
local fields = redis.pcall('HLEN', lock_key)
if failed(fields) then
    return holder.wrong(fields)
end
local text = redis.call('GET', record_key)
local was
was, bad = past.read(text, form.layout_lock)
if not was then
    return bad
end
if fields > 0 then
    bad = redis.call('HEXISTS', lock_key, was.claim) == 0
        and holder.stranger(lock_key)
    return bad or {HELD, redis.call('HKEYS', lock_key)[1],
        redis.call('PTTL', lock_key)}
end
local heard = audience({channel})
if failed(heard) then
    return heard
end
local waiters = heard[2] + redis.call('ZCOUNT', queue_key, '0',
        '(' .. queue.score(queue.VOID, 0))
    + redis.call('LLEN', fairq_key) + redis.call('EXISTS', spin_key)
if waiters > 0 then
    return {WAITED, waiters}
elseif not text or string.sub(text, 1, 2) == form.layout_forgotten then
    return {NOTHING}
elseif string.sub(text, 1, 2) ~= form.layout_lock then
    return redis.error_reply('LKTYPE the name is in use as another kind')
end
local void = redis.call('ZCOUNT', queue_key, queue.score(queue.VOID, 0), '+inf')
bad = failed(redis.pcall('SET', record_key,
    record.write(past.none(form.layout_forgotten, was.fence, was.spare)),
    'PX', HOUR))
if bad then
    return bad
elseif void == 0 then
    redis.pcall('DEL', queue_key)
end
return {DONE}
