-- SPDX-License-Identifier: MIT
-- import: a hold that was exported becomes that of a new claim, own, with its lease
-- begun again.
--
-- left: of the lease. code: 0 nobody holds, 2 another does, 4 it was revoked.
--
-- Invariants: of those who import one claim one is told *held*. That one may ask
-- again with the same claim. A TTL is only lengthened. On a mismatch nothing
-- changes. A full server does not refuse it.
-- needs: failed lengthen void

local holder = redis.call('GET', lock_key)
if holder ~= claim and holder ~= own then
    return {NOT_HELD, holder and 2 or 0}
elseif void.has(void_key, holder) then
    return {NOT_HELD, 4}
end
local left = lengthen(lock_key, tonumber(lease))
if failed(left) then
    return left
end
-- Changes nothing; a full server lets through what follows such a write.
local bad = failed(redis.pcall('PEXPIRE', lock_key, left))
    or failed(redis.pcall('SET', lock_key, own, 'PX', left))
return bad or {HELD, left}
