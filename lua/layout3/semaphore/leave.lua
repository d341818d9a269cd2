-- Takes a member out of the line, or out of those that are parked.
--
-- KEYS    N, Z, line, side
-- ARGV    member, end (1, -1: the side from which it is nearer)
-- returns 0 it is unknown, -1 it left, -2 it left and permits are free: next, 1 it holds,
--         and may have stood in the line as well: close
local call = redis.call
local was = call('LREM', KEYS[3], ARGV[2], ARGV[1])
was = was + call('HDEL', KEYS[4], 'p' .. ARGV[1])
if tonumber(call('ZSCORE', KEYS[2], string.sub(ARGV[1], 1, 49)) or 0) > 2 then
    return 1
elseif was == 0 then
    return 0
end
return tonumber(call('GET', KEYS[1]) or 0) > 0 and -2 or -1
