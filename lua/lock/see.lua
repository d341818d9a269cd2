-- SPDX-License-Identifier: MIT
-- see: who holds the lock and who waits for it, the first 64.
--
-- Invariants: nothing is changed, but a replica refuses it. Of a holder that is
-- not one of ours fence and held are 0, and the reason is empty. Behind the mode
-- of one that is revoked stands v. Those who wait for Redisson's fair lock come
-- behind ours, with a need of 0; where they may not be read, without them. No
-- nonce is told.
-- needs: failed clock past holder queue waiting master

local bad = master(lock_key)
if bad then
    return bad
end
clock.look()
local was
was, bad = past.read(redis.call('GET', record_key), '2l')
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

local function add(list, ...)
    for i = 1, select('#', ...) do
        list[#list + 1] = (select(i, ...))
    end
end

for i = 1, #fields, 2 do
    local is_ours = fields[i] == was.claim
    add(holders, fields[i], tonumber(fields[i + 1]) or 0,
        is_ours and tonumber(was.fence) or 0,
        is_ours and math.max(clock.ms - was.since, 0) or 0, left,
        is_ours and was.reason or '', is_ours
            and was.mode .. (was.flag == 'v' and 'v' or '') or '')
end
local number, entries = waiting.all(queue_key)
for i = 1, #entries do
    waiting.tell(waiters, entries[i], entries[i].mode)
end
local others = redis.pcall('LRANGE', fairq_key, '0', '63')
local length = redis.pcall('LLEN', fairq_key)
if not failed(others) and not failed(length) then
    number = number + length
    for i = 1, math.min(#others, 64 - #waiters / 6) do
        add(waiters, others[i], 0, 0, 0, '', '')
    end
end
return {SEEN, number, holders, waiters}
