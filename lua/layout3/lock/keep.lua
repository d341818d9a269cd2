-- SPDX-License-Identifier: MIT
--
-- Lengthens a hold, proves it, and notes what operators see of it.
--
-- KEYS    N, side
-- ARGV    claim, lease in ms, info (may be missing): fence, since, lease, reason
-- returns the ms that the hold has left, -1 it is lost, -2 it is revoked, -3 another has it
--
-- Only an end that is nearer moves. A full server accepts the first write; a replica
-- refuses one on each way, so neither a hold nor a loss is said by one. The counter of
-- fences is the lift's.
local call, lock, claim = redis.call, KEYS[1], ARGV[1]
local value = call('HGET', lock, claim)
if value ~= '1' or call('HLEN', lock) ~= 1 then
    call('HDEL', lock, '')
    return value == '2' and -2 or call('EXISTS', lock) == 1 and -3 or -1
end
local left, lease = call('PTTL', lock), tonumber(ARGV[2])
if left < lease then
    call('PEXPIRE', lock, ARGV[2])
    left = lease
else
    call('HDEL', lock, '')
end
if ARGV[3] then
    call('HSET', KEYS[2], 'h', claim .. ' ' .. ARGV[3])
    call('PEXPIRE', KEYS[2], '4500000')
end
return left
