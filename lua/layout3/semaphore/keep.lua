-- Lengthens the lease of a hold, and says what it has.
--
-- KEYS    Z, fence, side
-- ARGV    lease and the skew, skew, what operators see of it or '', its permits
-- returns ms that it has from now on, -1 it is over, -2 it is revoked
--
-- First a write that a replica refuses, so that none says that a hold is lost, and that a
-- full server does not. A lease is only lengthened: a late keep shortens none. Permits
-- that were given up have the score 2.
local call, zset = redis.call, KEYS[1]
call('PEXPIRE', KEYS[3], '4500000')
local ends, time = tonumber(call('ZSCORE', zset, ARGV[4]) or 0), call('TIME')
if ends <= 2 then
    return -1
elseif call('HEXISTS', KEYS[3], 'v' .. ARGV[4]) == 1 then
    return -2
end
local us, old = time[1] * 1000000 + time[2], call('GET', KEYS[2]) or '0'
if string.find(old, '%D') then
    return redis.error_reply('LKLAYOUT the name is of another layout')
end
local now, set = math.floor(us / 1000), {}
ends = math.max(ends, now + ARGV[1])
local till = string.format('%d', ends)
for i = 4, #ARGV do
    set[i * 2 - 7], set[i * 2 - 6] = till, ARGV[i]
end
call('ZADD', zset, 'XX', unpack(set))
call('SET', KEYS[2], string.format('%d', math.max(us, tonumber(old))), 'PX', '4500000')
if ARGV[3] ~= '' then
    call('HSET', KEYS[3], 'h' .. ARGV[4], ARGV[3])
    call('PEXPIRE', KEYS[3], '4500000')
end
return ends - now - ARGV[2]
