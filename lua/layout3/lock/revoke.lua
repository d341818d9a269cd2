-- SPDX-License-Identifier: MIT
--
-- Tells the holder that its hold is over. The name stays taken until the hold ends.
--
-- KEYS    N
-- ARGV    claim, inbox of its client (plain)
-- returns 1 and the ms that the hold has left, 0 the claim does not hold, -1 it is
--         Redisson's, which cannot be told
--
-- The value of its field says so, which keep, renew and import compare. A full server
-- accepts the first write. Redisson's fields are not ours to revoke.
local call, lock, claim = redis.call, KEYS[1], ARGV[1]
call('HDEL', lock, '')
if call('HEXISTS', lock, claim) == 0 then
    return 0
elseif string.byte(claim, 33) ~= 58 then
    return -1
end
call('HSET', lock, claim, '2')
redis.pcall('publish', ARGV[2], 'r' .. claim .. ' 1 ' .. lock)
return 1 + math.max(call('PTTL', lock), 0)
