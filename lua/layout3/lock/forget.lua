-- SPDX-License-Identifier: MIT
--
-- Removes what is left of a name that nobody uses. next goes before it, for dead waiters.
--
-- KEYS    N, line, fence, side
-- ARGV    Redisson's channel, Redisson's fair queue
-- returns 1 it is forgotten, 0 nothing was there, -n so many wait or listen, or who holds
--         it and for how many ms
--
-- A full server accepts the first write. The counter stays an hour: no fence falls.
local call = redis.call
call('PEXPIRE', KEYS[2], '2100000')
local heard, fair = redis.pcall('PUBSUB', 'NUMSUB', ARGV[1]), redis.pcall('LLEN', ARGV[2])
local waits = call('LLEN', KEYS[2])
if waits == 1 and call('LINDEX', KEYS[2], '0') == 'others' then
    waits = 0
end
if call('EXISTS', KEYS[1]) == 1 then
    return {call('HRANDFIELD', KEYS[1]), call('PTTL', KEYS[1])}
end
local others = (heard[2] or 0) + (type(fair) == 'number' and fair or 0)
if waits + others > 0 then
    return -(waits + others)
elseif call('DEL', KEYS[2], KEYS[4]) + call('EXISTS', KEYS[3]) == 0 then
    return 0
end
call('PEXPIRE', KEYS[3], '3600000')
return 1
