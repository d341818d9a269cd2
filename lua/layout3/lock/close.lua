-- SPDX-License-Identifier: MIT
--
-- Ends a hold, or gives a name that is free, as next says. The first of the line whose
-- inbox is heard has the name from then on.
--
-- KEYS    N, line, fence, side
-- ARGV    claim (empty: the name is free), inbox (a channel up to the client in it),
--         Redisson's channel
-- returns 0 it did not hold, or N is not free, 1 free, 2 handed over, 3 free, and more
--         wait: next, 4 free, and it is the outsiders' turn
--
-- A full server accepts the first write. Each new owner is written behind its fence and
-- before the owner before it goes, so N is not empty meanwhile and has an end. A waiter
-- whom nobody hears is parked with its place. The closing claim believes nothing from its
-- request on. Cut anywhere, no other claim stands alone in N but the waiter that was to
-- be told, which has it for 3 s, or of a free name until a touch or next gives it an end.
local call, lock, line, side, prev = redis.call, KEYS[1], KEYS[2], KEYS[4], ARGV[1]
local first = call('LPOP', line)
local marked = first == 'others'
if not first then
    if call('HDEL', lock, prev) == 0 then
        return 0
    end
    local heard = redis.pcall('PUBLISH', ARGV[3], '0')
    if heard == 0 or type(heard) ~= 'number' then
        return 1
    end
elseif call('HEXISTS', lock, prev) == 0 and
    (prev ~= '' or call('EXISTS', lock) == 1) then -- late
    call('LPUSH', line, first)
    call('PEXPIRE', line, '2100000')
    return 0
end
if marked or not first then
    local time = call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local t = math.floor(now / 50) % 65521
    local theirs = t * t % 65521 * t % 65521 * 40503 % 65521 < 26208
    local rest = not marked and (call('HGET', side, 'rest') or 0) - now or 0
    if theirs and (rest <= 0 or rest > 17000) then
        call('HSET', side, 'open', string.format('%.0f', now))
        call('PEXPIRE', side, '4500000')
        call('LPUSH', line, 'others')
        call('PEXPIRE', line, '2100000')
        if marked then
            call('HDEL', lock, prev)
            redis.pcall('PUBLISH', ARGV[3], '0')
            first = call('LINDEX', line, '1')
            if first then
                redis.pcall('PUBLISH', ARGV[2] .. string.sub(first, 1, 32),
                    'o' .. first .. ' 0 ' .. lock)
            end
        end
        return 4
    elseif not marked then
        return 1
    end
    first = call('LPOP', line)
end
if first then
    call('PEXPIRE', lock, '3000')
    local fence = call('INCRBY', KEYS[3], '16')
    if fence < 1000000000000 then -- the counter was lost: on from the clock
        local time = call('TIME')
        local us = time[1] .. string.sub('00000' .. time[2], -6)
        call('SET', KEYS[3], us, 'PX', '4500000')
        call('INCRBY', KEYS[3], '16')
    elseif fence > 9007199254740991 then
        return redis.error_reply('LKRANGE the name has no more fences')
    end
end
local fence = first and call('GET', KEYS[3])
for tried = 1, first and 64 or 0 do
    if #first == 66 then
        local to = string.sub(first, 1, 49)
        call('HSET', lock, to, '1')
        if prev == '' then
            call('PEXPIRE', lock, '3000')
        end
        call('HDEL', lock, prev)
        prev = to
        local inbox = ARGV[2] .. string.sub(first, 1, 32)
        local grant = 'g' .. first .. ' ' .. fence .. ' ' .. lock
        if redis.pcall('PUBLISH', inbox, grant) ~= 0 then
            if marked then
                call('LPUSH', line, 'others')
                call('PEXPIRE', line, '2100000')
            end
            return 2
        end
        local before = call('HGET', side, 'last') or ''
        local last = string.sub(before .. first, -528)
        call('HSET', side, 'p' .. first, before, 'last', last)
        call('PEXPIRE', side, '4500000')
    end
    first = tried < 64 and call('LPOP', line)
    if not first then
        break
    end
end
call('HDEL', lock, prev)
if call('EXISTS', line) == 1 then
    return 3
end
redis.pcall('PUBLISH', ARGV[3], '0')
return 1
