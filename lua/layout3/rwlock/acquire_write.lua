-- Writes: takes a free name, waits in the writers' line, or tells a try that it is taken.
--
-- KEYS    N, writers' line, readers' line, fence
-- ARGV    claim, lease of at most 3,000 ms, member or '' (a try)
-- returns as acquire_read; f is the highest of its sixteen fences
local call, lock = redis.call, KEYS[1]
if call('EXISTS', lock, KEYS[2], KEYS[3]) == 0 then
    local fence = call('INCRBY', KEYS[4], '16')
    if fence < 1000000000000 then -- the counter was lost: on from the clock
        local time = call('TIME')
        local us = time[1] .. string.sub('00000' .. time[2], -6)
        call('SET', KEYS[4], us, 'PX', '4500000')
        fence = call('INCRBY', KEYS[4], '16')
    elseif fence > 9007199254740991 then
        return redis.error_reply('LKRANGE the name has no more fences')
    end
    call('HSET', lock, 'mode', 'write', ARGV[1] .. ':write', '1')
    call('PEXPIRE', lock, ARGV[2])
    return fence
end
local left = call('PTTL', lock)
if left ~= -2 and call('HEXISTS', lock, 'mode') == 0 then
    return redis.error_reply('LKKIND the name is of another kind')
elseif ARGV[3] == '' then
    return -2 - left
end
local place = call('RPUSH', KEYS[2], ARGV[3])
if place == 1 then
    call('PEXPIRE', KEYS[2], '2100000')
end
return -2 * place - (left == -2 and 1 or 0)
