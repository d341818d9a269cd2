-- Makes a latch unset.
--
-- KEYS    N, side, arrived
-- ARGV    ms that the side lives from now on, Redisson's channel, news, the news
-- returns 1 it was armed or open, 0 it was not
--
-- Side before count: cut behind it, a count without a side that is armed is one that
-- Redisson armed.
local call = redis.call
call('HDEL', KEYS[2], '')
local known, left = call('HMGET', KEYS[2], 'phase', 'gen'), call('GET', KEYS[1])
if not left and known[1] ~= 'a' and known[1] ~= 'o' then
    return 0
end
call('HSET', KEYS[2], 'phase', 'u', 'gone', known[2] or '0')
call('PEXPIRE', KEYS[2], ARGV[1])
call('DEL', KEYS[1])
call('DEL', KEYS[3])
redis.pcall('PUBLISH', ARGV[2], '1')
redis.pcall('PUBLISH', ARGV[3], ARGV[4])
return 1
