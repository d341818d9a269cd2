-- Lengthens a read, and says what it has.
--
-- KEYS    N, fence, side, T
-- ARGV    claim, lease, field of its own writer or '', what operators see of it or ''
-- returns ms that it has, the earlier end of N and T; -1 it is over, -2 it is revoked
--
-- Each end is only lengthened, N's first. First a write that a replica refuses.
local call, lock, lease = redis.call, KEYS[1], tonumber(ARGV[2])
call('PEXPIRE', KEYS[3], '4500000')
local mode, own = call('HGET', lock, 'mode'), call('PTTL', KEYS[4])
local open = mode == 'read' or ARGV[3] ~= '' and call('HEXISTS', lock, ARGV[3]) == 1
if not open or own < 0 or call('HEXISTS', lock, ARGV[1]) == 0 then
    return -1
elseif call('HEXISTS', KEYS[3], 'v' .. ARGV[1]) == 1 then
    return -2
end
local old, time = call('GET', KEYS[2]) or '0', call('TIME')
if string.find(old, '%D') then
    return redis.error_reply('LKLAYOUT the name is of another layout')
end
local left = math.max(call('PTTL', lock), own, lease)
call('PEXPIRE', lock, left)
own = math.max(own, lease)
call('PEXPIRE', KEYS[4], own)
local us = math.max(tonumber(old), time[1] * 1000000 + time[2])
call('SET', KEYS[2], string.format('%d', us), 'PX', '4500000')
if ARGV[4] ~= '' then
    call('HSET', KEYS[3], 'h' .. ARGV[1], ARGV[4])
    call('PEXPIRE', KEYS[3], '4500000')
end
return math.min(left, own)
