-- SPDX-License-Identifier: MIT
-- revoke: have one owner's hold end: it is not renewed any more. Until it is
-- released, or its lease ends, nobody else gets the name.
--
-- told 1: its client finds out when it renews. 0: it is another library's, as its
-- id says, which cannot be told and may renew it, and nothing was changed.
--
-- Invariants: the holder and the end of its lease stay as they are. Sent again it
-- changes nothing that counts. A full server does not refuse it. A claim is revoked
-- by being void.
-- needs: void

-- A claim stays void for so long after its lease.
local BEYOND = 60000

if redis.call('GET', lock_key) ~= claim then
    return {NOT_HELD}
end
local left = redis.call('PTTL', lock_key)
if #claim ~= 49 or not string.find(claim, '^%x+:%d+$') then
    return {REVOKED, left, 0}
end
local bad = void.add(void_key, claim, math.max(left, 0) + BEYOND)
return bad or {REVOKED, left, 1}
