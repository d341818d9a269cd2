-- Counts down, and opens the latch at 0.
--
-- KEYS    N, side, arrived, memo
-- ARGV    number of the change, by how much, number of a change that is settled or '',
--         and as open
-- returns what is left, 0: it opened, -1 it was open, -2 it is unset, -3 at 0: open
--
-- A change is noted for 11 minutes before it is made, so one that is asked again counts
-- once; one that is cut between the two is lost, and its client is in doubt. First a
-- write that a full server does not refuse.
local call = redis.call
call('HDEL', KEYS[4], ARGV[3])
local noted, left = call('HGET', KEYS[4], ARGV[1]), tonumber(call('GET', KEYS[1]))
if noted then
    return tonumber(string.sub(noted, 15))
elseif not left then
    local known = call('HMGET', KEYS[2], 'phase', 'gen')
    return (known[1] == 'o' or known[1] == 'a' and
        call('ZSCORE', KEYS[3], 'w' .. known[2])) and -1 or -2
elseif left <= 0 then
    return -3
end
local ttl, time = call('HGET', KEYS[2], 'ttl') or '0', call('TIME')
local now = time[1] .. string.sub('00000' .. time[2], -6, -4)
left = string.format('%d', math.max(0, left - ARGV[2]))
call('HSET', KEYS[4], ARGV[1], now .. ' ' .. left)
call('PEXPIRE', KEYS[4], '660000')
call('DECRBY', KEYS[1], ARGV[2])
if left ~= '0' then
    for i = 1, ttl == '0' and 0 or 3 do
        call('PEXPIRE', KEYS[i], ttl)
    end
    return tonumber(left)
end
local known = call('HMGET', KEYS[2], 'phase', 'gen', 'nonce') -- as open
local gen = string.format('%d', (known[2] or 0) + (known[1] == 'a' and 0 or 1))
call('DEL', KEYS[1])
call('HSET', KEYS[2], 'phase', 'o', 'gen', gen, 'opened', gen)
call('PEXPIRE', KEYS[2], ARGV[4])
call('DEL', KEYS[3])
redis.pcall('PUBLISH', ARGV[5], '0')
local text = ARGV[7] .. gen .. ' ' .. (known[3] or '-') .. ' ' .. KEYS[1]
redis.pcall('PUBLISH', ARGV[6], text)
return 0
