-- Gives up permits of a claim whose acquire or close failed, and in a slot that moves.
--
-- KEYS    Z
-- ARGV    its permits
-- returns 1 they are given up, 0 it had none
--
-- The script touches one key and may run as often as one likes: the next sweep, Java's
-- too, counts the permits back once.
-- First a write that a full server does not refuse.
local call, set = redis.call, {}
call('ZREM', KEYS[1], '')
if call('EXISTS', KEYS[1]) == 0 then
    return 0
end
for i = 1, #ARGV do
    set[i * 2 - 1], set[i * 2] = '2', ARGV[i]
end
return call('ZADD', KEYS[1], 'XX', 'LT', 'CH', unpack(set)) > 0 and 1 or 0
