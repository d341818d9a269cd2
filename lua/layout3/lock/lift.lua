-- SPDX-License-Identifier: MIT
--
-- Raises the counter of fences to the clock: a client's first request for a name on a
-- connection, and each 15 min. acquire does the same itself.
--
-- KEYS    fence
-- returns the highest of sixteen fences that nobody else has
--
-- The script writes once, and a full server refuses that write.
local old = redis.call('GET', KEYS[1]) or '0'
if string.find(old, '%D') then
    return redis.error_reply('LKLAYOUT the name is of another layout')
end
local time = redis.call('TIME')
local fence = math.max(tonumber(old), time[1] * 1000000 + time[2]) + 16
if fence > 9007199254740991 then
    return redis.error_reply('LKRANGE the name has no more fences')
end
redis.call('SET', KEYS[1], string.format('%.0f', fence), 'PX', '4500000')
return fence
