-- Arms a latch.
--
-- KEYS    N, side, arrived
-- ARGV    number of the change, count, how (t: only an unset one, r), nonce, ttl in ms
--         or 0, Redisson's channel
-- returns 1 it is armed, 0 it was armed or open
--
-- The witness comes first, then the count, then the side, with the change's number: so a
-- change that is asked again is found, and a cut never leaves one armed without a count,
-- which would be open. Members of other generations go at last.
local call, count, side, arrived = redis.call, KEYS[1], KEYS[2], KEYS[3]
local known, left = call('HMGET', side, 'phase', 'gen', 'op'), call('GET', count)
local gen = tonumber(known[2]) or 0
local open = known[1] == 'o' or known[1] == 'a' and call('ZSCORE', arrived, 'w' .. gen)
if known[3] == ARGV[1] then
    return 1
elseif ARGV[3] == 't' and (left or open) then
    return 0
end
gen = string.format('%d', gen + 1)
call('ZADD', arrived, gen, 'w' .. gen)
call('SET', count, ARGV[2])
call('HSET', side, 'phase', 'a', 'gen', gen, 'nonce', ARGV[4], 'size', ARGV[2],
     'ttl', ARGV[5], 'op', ARGV[1])
for i = 1, 3 do
    if ARGV[5] == '0' then
        call('PERSIST', KEYS[i])
    else
        call('PEXPIRE', KEYS[i], ARGV[5])
    end
end
call('ZREMRANGEBYSCORE', arrived, '-inf', '(' .. gen)
call('ZREMRANGEBYSCORE', arrived, '(' .. gen, '+inf')
redis.pcall('PUBLISH', ARGV[6], '1')
return 1
