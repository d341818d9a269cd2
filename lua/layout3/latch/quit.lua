-- Takes a member's arrival back.
--
-- KEYS    N, side, arrived
-- ARGV    member
-- returns 1 it is not here, 0 it is at 0: open, -1 it was open, and the others start
--
-- The member goes before the count is raised: a cut leaves too low a count, and arrive
-- counts those that are here. First a write that a full server does not refuse.
local call, count, side, arrived = redis.call, KEYS[1], KEYS[2], KEYS[3]
call('HDEL', side, '')
local known = call('HMGET', side, 'phase', 'gen', 'size', 'op', 'opened', 'gone')
local left, gen = tonumber(call('GET', count)), known[2] or '0'
local armed = known[1] == 'a' and call('ZSCORE', arrived, 'w' .. gen)
if left and left <= 0 then
    return 0
elseif not left and (known[1] == 'o' or armed) then
    return -1
elseif not (left and armed) or call('ZREM', arrived, 'm' .. ARGV[1]) == 0 then
    return 1
end
local here = call('ZCOUNT', arrived, gen, gen) - 1
local fields = 6 + (known[5] and 1 or 0) + (known[6] and 1 or 0)
if here == 0 and known[4] == '-' and call('HLEN', side) == fields then -- nobody waits
    call('HSET', side, 'phase', 'u')
    call('PEXPIRE', side, '4500000')
    call('DEL', count)
    call('DEL', arrived)
elseif left < known[3] - here then
    call('INCRBY', count, known[3] - here - left)
end
return 1
