-- SPDX-License-Identifier: MIT
-- forget: remove what is kept of a read-write lock that nobody uses.
--
-- Invariants: nothing is removed while somebody holds or waits, nor a key of
-- another type; what is Redisson's stays. A reader that has died counts until the
-- hash ends. Claims that are void still stay so, with the queue that they are in.
-- Fences do not go back: the last one stays for an hour, in a record that is no
-- kind's. A full server does not refuse it. Sent again it finds nothing.
-- needs: audience failed past hold

local HOUR = '3600000'
-- 9 x 2^48: from here on claims are void.
local VOID = '2533274790395904'

local bad = failed(redis.pcall('ZREM', queue_key, ''))
    or failed(redis.pcall('HDEL', holders_key, ''))
    or hold.look(lock_key, record_key, '-')
if bad then
    return bad
end
local text = redis.call('GET', record_key)
if hold.mode or hold.lapsed then
    local owner = ''
    for _, field in ipairs(redis.call('HKEYS', lock_key)) do
        owner = field ~= 'mode' and string.gsub(field, ':write$', '') or owner
    end
    return {HELD, owner, redis.call('PTTL', lock_key)}
end
local heard = audience({channel})
if failed(heard) then
    return heard
end
local waiters = heard[2] + redis.call('ZCOUNT', queue_key, '0',
        '(' .. VOID)
    + redis.call('EXISTS', spin_key)
if waiters > 0 then
    return {WAITED, waiters}
elseif not text or string.sub(text, 1, 2) == form.layout_forgotten then
    return {NOTHING}
elseif string.sub(text, 1, 2) ~= form.layout_rwlock then
    return redis.error_reply('LKTYPE the name is in use as another kind')
end
local void = redis.call('ZCOUNT', queue_key, VOID, '+inf')
bad = failed(redis.pcall('SET', record_key,
    record.write(past.none(form.layout_forgotten, hold.was.fence, hold.was.spare)),
    'PX', HOUR))
if bad then
    return bad
elseif void == 0 then
    redis.pcall('DEL', queue_key)
end
redis.pcall('DEL', holders_key)
return {DONE}
