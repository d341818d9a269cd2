-- SPDX-License-Identifier: MIT
--
-- Takes a free name, waits in its line, or tells a try that it is taken.
--
-- KEYS    N, line, fence
-- ARGV    member (of a try the claim alone), lease of at most 3,000 ms, lift (given: the
--         client's first request for the name on this connection)
-- returns f > 0: it holds, f is the highest of its sixteen fences
--         waits: -2n in place n, -2n - 1 if nobody holds the name: next
--         try:   -2 - ms that the holder has, -1 no end, 0 free with a line: next
--
-- A full server refuses the first write. An owner is written behind its fence. Cut behind
-- HSET or RPUSH, a key has no end until a touch or next gives it one.
local call, lock, line = redis.call, KEYS[1], KEYS[2]
local member, fence = ARGV[1], nil
if ARGV[3] then
    local field, old = call('HRANDFIELD', lock), call('GET', KEYS[3]) or '0'
    if string.find(old, '%D') then
        return redis.error_reply('LKLAYOUT the name is of another layout')
    elseif field and (#field < 38 or not string.find(field, '^[%x-]+:%x+$') or
        call('HEXISTS', lock, 'mode') == 1) then
        return redis.error_reply('LKKIND the name is of another kind')
    end
    local time = call('TIME')
    fence = math.max(tonumber(old), time[1] * 1000000 + time[2]) + 16
    if fence > 9007199254740991 then
        return redis.error_reply('LKRANGE the name has no more fences')
    end
    call('SET', KEYS[3], string.format('%.0f', fence), 'PX', '4500000')
end
local there = call('EXISTS', lock, line)
if there == 0 then
    if not fence then
        fence = call('INCRBY', KEYS[3], '16')
        if fence < 1000000000000 then -- the counter was lost: on from the clock
            local time = call('TIME')
            local us = time[1] .. string.sub('00000' .. time[2], -6)
            call('SET', KEYS[3], us, 'PX', '4500000')
            fence = call('INCRBY', KEYS[3], '16')
        elseif fence > 9007199254740991 then
            return redis.error_reply('LKRANGE the name has no more fences')
        end
    end
    call('HSET', lock, string.sub(member, 1, 49), '1')
    call('PEXPIRE', lock, ARGV[2])
    return fence
end
if #member == 49 then
    return -2 - call('PTTL', lock)
end
local place = call('RPUSH', line, member)
if place == 1 then
    call('PEXPIRE', line, '2100000')
elseif there == 1 then
    return -2 * place - 1
end
return -2 * place
