-- Says that a member of a barrier is here. The first one arms it.
--
-- KEYS    N, side, arrived
-- ARGV    member, how many are expected, nonce, ttl in ms or 0, Redisson's channel
-- returns how many are missing, 0: open, -1 it was open, -3 it is armed for another
--         number
--
-- What is missing is what was expected less the members in arrived, so a member counts
-- once however often it says so, and what a cut left is put right by the next. The count
-- is only lowered to it. A count that no side tells of and that is as expected was
-- Redisson's, or a cut's: it is noted. First a write that a full server does not refuse.
local call, count, side, arrived = redis.call, KEYS[1], KEYS[2], KEYS[3]
call('HDEL', side, '')
local known = call('HMGET', side, 'phase', 'gen', 'size', 'ttl')
local left, gen = tonumber(call('GET', count)), tonumber(known[2]) or 0
local armed = known[1] == 'a' and call('ZSCORE', arrived, 'w' .. gen)
if left and left <= 0 then
    return 0
elseif not left and (known[1] == 'o' or armed) then
    return -1
elseif left and (armed and known[3] or string.format('%d', left)) ~= ARGV[2] then
    return -3
end
local ttl = armed and left and known[4] or ARGV[4]
if not (armed and left) then
    gen, left = gen + 1, tonumber(ARGV[2])
    call('ZADD', arrived, gen, 'w' .. gen)
    call('SET', count, ARGV[2])
    call('HSET', side, 'phase', 'a', 'gen', gen, 'nonce', ARGV[3], 'size', ARGV[2],
         'ttl', ttl, 'op', '-')
    call('ZREMRANGEBYSCORE', arrived, '-inf', '(' .. gen)
    call('ZREMRANGEBYSCORE', arrived, '(' .. gen, '+inf')
    redis.pcall('PUBLISH', ARGV[5], '1')
end
call('ZADD', arrived, gen, 'm' .. ARGV[1])
for i = 1, 3 do
    if ttl == '0' then
        call('PERSIST', KEYS[i])
    else
        call('PEXPIRE', KEYS[i], ttl)
    end
end
local missing = math.max(0, ARGV[2] + 1 - call('ZCOUNT', arrived, gen, gen))
if missing < left then
    call('DECRBY', count, left - missing)
end
return math.min(missing, left)
