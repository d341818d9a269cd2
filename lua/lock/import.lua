-- SPDX-License-Identifier: MIT
-- import: a hold that was exported becomes that of a new claim, with a new
-- fence and its lease begun again. own is the new claim's member.
--
-- code: 0 nobody holds, 2 another does, 3 the same claim under another fence, 4
-- it was revoked.
--
-- Invariants: of those who import one claim one is told *held*: the old claim is
-- gone then. The same new claim may ask again, and gets the same fence. A lease
-- is only lengthened. On a mismatch nothing changes. The name is never without
-- an owner in between. A full server does not refuse it. A hold without a
-- record is nobody's to import.
-- needs: failed clock fences past holder queue

local both = redis.call('MGET', record_key, token_key)
local was, bad = past.read(both[1], form.layout_lock)
if not was then
    return bad
end
local it = member.read(own)
it.text = own
local held = redis.pcall('HMGET', lock_key, claim, it.claim)
if failed(held) then
    return holder.wrong(held)
end
local left = redis.call('PTTL', lock_key)
if was.flag == 'v' and (held[2] and was.claim == it.claim
        or held[1] and was.claim == claim and was.fence == fence) then
    return {NOT_HELD, 4}
elseif held[2] and was.claim == it.claim then
    return {HELD, tonumber(was.fence), left, tonumber(was.spare)}
elseif not held[1] then
    return {NOT_HELD, redis.call('EXISTS', lock_key) * 2}
elseif was.claim ~= claim then
    return {NOT_HELD, 0}
elseif was.fence ~= fence then
    return {NOT_HELD, 3}
end
clock.look()
local at, spare = fences(clock.us, was.fence, was.spare, both[2])
if not at then
    return spare
end
left = math.max(left, tonumber(lease))
-- The first changes nothing: whoever may not remove the old owner adds no new
-- one.
bad = failed(redis.pcall('HDEL', lock_key, ''))
    or failed(redis.pcall('PEXPIRE', lock_key, left))
if not bad and (both[2] or interop == '1') then
    bad = failed(redis.pcall('SET', token_key, queue.text(at + spare),
        'KEEPTTL'))
end
bad = bad or failed(redis.pcall('HSET', lock_key, it.claim, '1'))
if bad then
    return bad
end
bad = failed(redis.pcall('HDEL', lock_key, claim))
if not bad then
    bad = failed(redis.pcall('SET', record_key, holder.sign(was, it, at, spare,
        0, was.turn), 'PX', left + life))
    if bad then
        redis.pcall('HSET', lock_key, claim, '1')
    end
end
if bad then
    redis.pcall('HDEL', lock_key, it.claim)
    return bad
end
return {HELD, at, left, spare}
