-- SPDX-License-Identifier: MIT
-- see: who holds the lock and who waits for it, the first 64.
--
-- Invariants: nothing is changed, but a replica refuses it. Of a holder that is
-- not one of ours fence and held are 0, and the reason is empty. Behind the mode
-- of one that is revoked stands v. Those who wait for Redisson's fair lock come
-- behind ours, with a need of 0; where they may not be read, without them. No
-- nonce is told.
-- needs: add failed clock past holder queue waiting master

local bad = master(lock_key)
if bad then
    return bad
end
clock.look()
local was
was, bad = past.read(redis.call('GET', record_key), form.layout_lock)
if not was then
    return bad
end
local held = redis.pcall('HEXISTS', lock_key, was.claim)
if failed(held) then
    return holder.wrong(held)
end
bad = held == 0 and redis.call('EXISTS', lock_key) == 1
    and holder.stranger(lock_key)
if bad then
    return bad
end
local fields = redis.call('HGETALL', lock_key)
local left, holders, waiters = redis.call('PTTL', lock_key), {}, {}

for i = 1, #fields, 2 do
    local is_ours = fields[i] == was.claim
    add(holders, group.holder({claim = fields[i],
        count = tonumber(fields[i + 1]) or 0,
        fence = is_ours and tonumber(was.fence) or 0,
        held = is_ours and math.max(clock.ms - was.since, 0) or 0,
        left = left, reason = is_ours and was.reason or '',
        mode = is_ours and was.mode .. (was.flag == 'v' and 'v' or '') or ''}))
end
local number, entries = waiting.all(queue_key)
for i = 1, #entries do
    waiting.tell(waiters, entries[i], entries[i].mode)
end
local others = redis.pcall('LRANGE', fairq_key, '0', '63')
local length = redis.pcall('LLEN', fairq_key)
if not failed(others) and not failed(length) then
    number = number + length
    for i = 1, math.min(#others, 64 - #waiters / #group.waiter) do
        add(waiters, group.waiter({claim = others[i], need = 0, ticket = 0,
            waited = 0, reason = '', mode = ''}))
    end
end
return {SEEN, number, holders, waiters}
