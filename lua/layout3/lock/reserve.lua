-- SPDX-License-Identifier: MIT
--
-- Draws fences for a client that hands a name on among its own, lengthens its hold, and
-- asks whether others wait.
--
-- KEYS    N, line, fence
-- ARGV    claim, lease in ms, how many fences, Redisson's channel, Redisson's fair queue
-- returns the highest fence that is the hold's now, below 0 if anybody else waits; -1 the
--         hold is lost, -2 it is revoked, -3 another has the name
--
-- Only an end that is nearer moves, and the hold has its end before it has the fences. A
-- replica refuses a write on each way; a full server refuses the fences.
local call, lock, claim = redis.call, KEYS[1], ARGV[1]
local value = call('HGET', lock, claim)
if value ~= '1' or call('HLEN', lock) ~= 1 then
    call('HDEL', lock, '')
    return value == '2' and -2 or call('EXISTS', lock) == 1 and -3 or -1
end
if call('PTTL', lock) < tonumber(ARGV[2]) then
    call('PEXPIRE', lock, ARGV[2])
end
local fence = call('INCRBY', KEYS[3], ARGV[3])
if fence < 1000000000000 or fence > 9007199254740991 then
    return redis.error_reply('LKRANGE the name has no more fences')
end
local heard, fair = redis.pcall('PUBSUB', 'NUMSUB', ARGV[4]), redis.pcall('LLEN', ARGV[5])
if call('EXISTS', KEYS[2]) == 0 and heard[2] == 0 and fair == 0 then
    return fence
end
return -fence
