-- Gives a claim's permits, and what is free, to those who stand first in the line.
--
-- KEYS    N, Z, line, fence, side
-- ARGV    inbox (a channel up to the client in it), Redisson's channel, 3,000 ms and the
--         skew, all permits of the claim (`claim`, `claim:2` ..) or none
-- returns 0 it held none, 1 nobody was given any, 2 somebody was, 3 more may be given:
--         again without permits, 4 it is the outsiders' turn: next 150 ms later
--
-- What ZREM took out is given, once. Takes (ZREM, DECRBY) stand before gives (ZADD and
-- INCR): a cut leaves less than N, and next restores it. Nobody passes the first. One
-- whose inbox nobody heard is parked with its place. Grants of a lost counter of fences
-- are below 10^12: no client believes them.
local call, zset, line, side = redis.call, KEYS[2], KEYS[3], KEYS[5]
local have = ARGV[4] and call('ZREM', zset, unpack(ARGV, 4)) or 0
if ARGV[4] and have == 0 then
    return 0
end
local first = call('LPOP', line)
local free = first and tonumber(call('GET', KEYS[1])) or 0
local marked, theirs, time = first == 'others', false, first and call('TIME')
if marked then
    local t = math.floor((time[1] * 1000 + time[2] / 1000) / 50) % 65521
    theirs = t * t % 65521 * t % 65521 * 40503 % 65521 < 26208
    first = not theirs and call('LPOP', line)
end
local told, before = 1, nil
for i = 1, first and 65 or 0 do
    local need = #first == 71 and tonumber(string.sub(first, 68))
    if i == 65 or need and need > have + free then
        told = i == 65 and 3 or told
        call('LPUSH', line, first)
        break
    elseif need then -- what is no member is dropped
        local fence = string.format('%d', call('INCR', KEYS[4]))
        if need > have then
            free, have = call('DECRBY', KEYS[1], need - have), need
        end
        local to, till = string.sub(first, 1, 49), time[1] * 1000 + time[2] / 1000
        local set = {string.format('%d', till + ARGV[3]), to}
        for j = 2, need do
            set[j * 2 - 1], set[j * 2] = set[1], to .. ':' .. j
        end
        call('ZADD', zset, unpack(set))
        have = have - need
        local text = 'g' .. first .. ' ' .. fence .. ' ' .. KEYS[1]
        if redis.pcall('PUBLISH', ARGV[1] .. string.sub(to, 1, 32), text) ~= 0 or
            string.byte(first, 50) == 108 then -- of kind l, which counts as heard
            told = 2
        else
            have = have + call('ZREM', zset, unpack(set)) -- no score is a member
            before = before or call('HGET', side, 'last') or ''
            local last = string.sub(before .. first, -568)
            call('HSET', side, 'p' .. first, before, 'last', last)
            call('PEXPIRE', side, '4500000')
            before = last
        end
    end
    first = have + free > 0 and call('LPOP', line)
    if not first then
        break
    end
end
if have > 0 then
    free = have == 1 and call('INCR', KEYS[1]) or call('INCRBY', KEYS[1], have)
end
local told_them = free > 0 and (have > 0 or theirs)
local heard = told_them and redis.pcall('PUBLISH', ARGV[2], free)
if not time and (tonumber(heard) or 0) > 0 then -- a new line begins with the outsiders
    time = call('TIME')
    local rest = (call('HGET', side, 'rest') or 0) - time[1] * 1000 - time[2] / 1000
    theirs = rest <= 0 or rest > 16000
end
if theirs then
    local now = time[1] .. string.sub('00000' .. time[2], -6, -4)
    call('HSET', side, 'open', now)
    call('PEXPIRE', side, '4500000')
    call('LPUSH', line, 'others')
elseif marked then
    call('LPUSHX', line, 'others')
end
if first or marked or theirs then
    call('PEXPIRE', line, '2100000')
end
return theirs and 4 or told
