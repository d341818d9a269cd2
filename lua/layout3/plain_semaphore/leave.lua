-- Takes a member out of the line, or out of those that are parked.
--
-- KEYS    N, line, memo, side
-- ARGV    member, end (1, -1: the side from which it is nearer)
-- returns 0 it is unknown, -1 it left, -2 it left and permits are free: tell, g: it has
--         its permits (more than 10^12), as take: back
local call = redis.call
local was = call('LREM', KEYS[2], ARGV[2], ARGV[1])
was = was + call('HDEL', KEYS[4], 'p' .. ARGV[1])
local noted = call('HGET', KEYS[3], string.sub(ARGV[1], 1, 49))
if noted then
    return tonumber(string.sub(noted, 15))
elseif was == 0 then
    return 0
end
return tonumber(call('GET', KEYS[1]) or 0) > 0 and -2 or -1
