-- Ends a read. Behind the last reader the first writer that can be reached has the name.
--
-- KEYS    N, writers' line, readers' line, fence, side, T
-- ARGV    claim, inbox (a channel up to the client in it), Redisson's channel
-- returns 0 it did not hold, 1 free, or others read on, 2 handed over, 3 next at once,
--         4 it is the outsiders' turn: next later
--
-- The next writer is written before the reader goes, and the hash is never shortened.
-- First a write that a replica refuses, a full server does not.
local call, lock, line, prev = redis.call, KEYS[1], KEYS[2], ARGV[1]
local count = call('HLEN', lock)
if count > 2 then
    if call('HDEL', lock, prev) == 0 then
        return 0
    end
    call('DEL', KEYS[6])
    local first = count == 3 and call('LRANGE', line, '0', '1') or {}
    first = first[1] == 'others' and first[2] or first[1] or ''
    return string.sub(first, 50, 50) == 'u' and 3 or 1 -- an upgrade has waited for this
elseif call('HEXISTS', lock, prev) == 0 then
    call('HDEL', lock, '')
    return 0
elseif call('EXISTS', line, KEYS[3]) == 0 then
    call('DEL', lock, KEYS[6])
    redis.pcall('PUBLISH', ARGV[3], '0')
    return 1
end
local first = call('LPOP', line)
local marked, theirs = first == 'others', false
if marked then
    local time = call('TIME')
    local t = math.floor((time[1] * 1000 + time[2] / 1000) / 50) % 65521
    theirs = t * t % 65521 * t % 65521 * 40503 % 65521 < 26208
    first = not theirs and call('LPOP', line)
    if theirs then
        call('HSET', KEYS[5], 'open', time[1] .. string.sub('00000' .. time[2], -6, -4))
        call('PEXPIRE', KEYS[5], '4500000')
    end
end
local told = 3
if first then
    call('DEL', KEYS[6])
    call('PEXPIRE', lock, math.max(call('PTTL', lock), 3000))
    if call('INCRBY', KEYS[4], '16') < 1000000000000 then
        local time = call('TIME')
        local us = time[1] .. string.sub('00000' .. time[2], -6)
        call('SET', KEYS[4], us, 'PX', '4500000')
        call('INCRBY', KEYS[4], '16')
    end
    local tail, before = ' ' .. call('GET', KEYS[4]) .. ' ' .. lock, nil
    for i = 1, 64 do
        if #first == 66 and string.sub(first, 50, 50) ~= 'u' then -- its reader is gone
            local to = string.sub(first, 1, 49) .. ':write'
            call('HSET', lock, 'mode', 'write', to, '1')
            call('HDEL', lock, prev)
            prev = to
            local inbox = ARGV[2] .. string.sub(first, 1, 32)
            if redis.pcall('PUBLISH', inbox, 'g' .. first .. tail) ~= 0 then
                told = 2
                break
            end
            before = before or call('HGET', KEYS[5], 'last') or ''
            local last = string.sub(before .. first, -528)
            call('HSET', KEYS[5], 'p' .. first, before, 'last', last)
            call('PEXPIRE', KEYS[5], '4500000')
            before = last
        end
        first = i < 64 and call('LPOP', line)
        if not first then
            break
        end
    end
end
if told == 3 then
    call('DEL', lock, KEYS[6])
end
if marked then
    call(theirs and 'LPUSH' or 'LPUSHX', line, 'others')
    call('PEXPIRE', line, '2100000')
end
if told == 3 and (theirs or call('EXISTS', line, KEYS[3]) == 0) then
    redis.pcall('PUBLISH', ARGV[3], '0')
    return theirs and 4 or 1
end
return told
