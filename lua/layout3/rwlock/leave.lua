-- Takes a member out of its line, or out of those that are parked.
--
-- KEYS    N, writers' line, readers' line, side, line of upgradeable readers
-- ARGV    member, its line (2, 3, 5: a place in KEYS), end (1, -1)
-- returns 0 it is unknown, -1 it left, -3 it left and others may be let in: next, 5 it
--         holds: close it
local call, claim = redis.call, string.sub(ARGV[1], 1, 49)
local was = call('LREM', KEYS[ARGV[2] + 0], ARGV[3], ARGV[1])
was = was + call('HDEL', KEYS[4], 'p' .. ARGV[1])
if call('HEXISTS', KEYS[1], ARGV[2] == '2' and claim .. ':write' or claim) == 1 then
    return 5
elseif was == 0 then
    return 0
end
return ARGV[2] == '2' and call('EXISTS', KEYS[2]) == 0 and -3 or -1
