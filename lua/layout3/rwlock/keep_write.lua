-- Lengthens a write, and says what it has.
--
-- KEYS    N, fence, side
-- ARGV    claim, lease, what operators see of it or '', claims of reads of its own
-- returns ms that it has; -1 it is over, -2 it is revoked
--
-- A writer holds if nobody stands beside it but its own reads. First a write that a
-- replica refuses.
local call, lock = redis.call, KEYS[1]
call('PEXPIRE', KEYS[3], '4500000')
local beside = 0
for i = 4, #ARGV do
    beside = beside + call('HEXISTS', lock, ARGV[i])
end
if call('HGET', lock, 'mode') ~= 'write' or call('HLEN', lock) ~= 2 + beside or
    call('HEXISTS', lock, ARGV[1] .. ':write') == 0 then
    return -1
elseif call('HEXISTS', KEYS[3], 'v' .. ARGV[1]) == 1 then
    return -2
end
local old, time = call('GET', KEYS[2]) or '0', call('TIME')
if string.find(old, '%D') then
    return redis.error_reply('LKLAYOUT the name is of another layout')
end
local left = math.max(call('PTTL', lock), tonumber(ARGV[2]))
call('PEXPIRE', lock, left)
local us = math.max(tonumber(old), time[1] * 1000000 + time[2])
call('SET', KEYS[2], string.format('%d', us), 'PX', '4500000')
if ARGV[3] ~= '' then
    call('HSET', KEYS[3], 'h' .. ARGV[1], ARGV[3])
    call('PEXPIRE', KEYS[3], '4500000')
end
return left
