-- SPDX-License-Identifier: MIT
--
-- A hold that was handed out as a text becomes another claim's.
--
-- KEYS    N, fence, side
-- ARGV    old claim, new claim, inbox of old's client (plain), info: since, lease, reason
-- returns f: new holds, f is the highest of its sixteen fences; -1 old does not hold
--         alone, -2 it is revoked
--
-- A text is good once, since its claim goes. A full server accepts the first write, a
-- replica refuses one on each way. Cut while both stand in N, neither is alone, and
-- neither believes.
local call, lock, old = redis.call, KEYS[1], ARGV[1]
local value = call('HGET', lock, old)
if value ~= '1' or call('HLEN', lock) ~= 1 then
    call('HDEL', lock, '')
    return value == '2' and -2 or -1
end
call('PEXPIRE', lock, math.max(call('PTTL', lock), 3000))
local fence = call('INCRBY', KEYS[2], '16')
if fence < 1000000000000 then -- the counter was lost: on from the clock
    local time = call('TIME')
    local us = time[1] .. string.sub('00000' .. time[2], -6)
    call('SET', KEYS[2], us, 'PX', '4500000')
    fence = call('INCRBY', KEYS[2], '16')
elseif fence > 9007199254740991 then
    return redis.error_reply('LKRANGE the name has no more fences')
end
call('HSET', lock, ARGV[2], '1')
call('HDEL', lock, old)
local first = string.format(' %.0f ', fence - 15)
call('HSET', KEYS[3], 'h', ARGV[2] .. first .. ARGV[4])
call('PEXPIRE', KEYS[3], '4500000')
redis.pcall('publish', ARGV[3], 'r' .. old .. ' 3 ' .. lock)
return fence
