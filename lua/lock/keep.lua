-- SPDX-License-Identifier: MIT
-- keep: lengthen a hold, see whether it is still the one that the client means,
-- and whether anybody waits for it.
--
-- code: 0 nobody holds, 2 another does, 3 the same claim under another fence, 4
-- it was revoked. reserve: so many fences more.
--
-- Invariants: a TTL is only lengthened, a key is never made. A full server does
-- not refuse it.
-- needs: audience failed clock past holder has_fair_waiters

local both = redis.call('MGET', record_key, token_key)
local was, bad = past.read(both[1], form.layout_lock)
if not was then
    return bad
end
local held = redis.pcall('HEXISTS', lock_key, claim)
if failed(held) and string.find(held.err, 'WRONGTYPE', 1, true) then
    return {LOST, 2}
elseif failed(held) then
    return held
elseif held == 0 then
    return {LOST, redis.call('EXISTS', lock_key) * 2}
elseif was.claim == claim and was.fence ~= fence then
    return {LOST, 3}
elseif was.claim == claim and was.flag == 'v' then
    return {LOST, 4}
end
local left = redis.call('PTTL', lock_key)
local counts = audience({channel})
local waits = interop == '1' or failed(counts) or counts[2] > 0
if not waits and redis.call('EXISTS', queue_key, fairq_key, spin_key) > 0 then
    -- Below 8 x 2^48: neither the parked nor the void.
    waits = redis.call('EXISTS', spin_key) == 1
        or redis.pcall('ZCOUNT', queue_key, '0', '(2251799813685248') ~= 0
        or has_fair_waiters(fairq_key, channel)
end

if left < tonumber(lease) then
    left = tonumber(lease)
    bad = failed(redis.pcall('PEXPIRE', lock_key, lease))
else
    -- Changes nothing; a full server lets through what follows.
    bad = failed(redis.pcall('HDEL', lock_key, ''))
end
if bad then
    return bad
end
local spare = tonumber(was.spare)
if was.claim ~= claim then
    return {KEPT, left, waits and 1 or 0, 0}
end
clock.look()
-- None where Redisson has counted on meanwhile, and none beyond the last.
local top = tonumber(fence) + spare
local more = math.min(tonumber(reserve), clock.us + 100000 - top,
    9007199254740991 - top)
if more > 0 and not (both[2] and (tonumber(both[2]) or top + 1) > top) then
    local text = string.format('%.0f', top + more)
    local told = not (both[2] or interop == '1')
        or not failed(redis.pcall('SET', token_key, text, 'KEEPTTL'))
    if told and not failed(redis.pcall('SET', record_key,
            holder.note(was, 'spare', string.format('%.0f', spare + more)),
            'PX', left + life)) then
        spare = spare + more
    end
else
    redis.pcall('PEXPIRE', record_key, left + life)
end
return {KEPT, left, waits and 1 or 0, spare}
