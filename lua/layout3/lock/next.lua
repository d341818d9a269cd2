-- SPDX-License-Identifier: MIT
--
-- Whether a name can be given to its line: sent where a touch, an acquire or a close says
-- that it is free.
--
-- KEYS    N, line, fence, side
-- ARGV    client, Redisson's channel and fair queue, 1 if outsiders are known of or 0,
--         claim of a try (may be empty), which takes the name in the outsiders' turn
-- returns 0 it is held, or nobody waits, 1 it can be given: close without a claim, 2 the
--         same, but the first is silent: park before it, -ms it is the outsiders' for so
--         long, or the try has it: f, the highest of its sixteen fences
--
-- A replica refuses the first write, a full server none. Only a try becomes an owner, of
-- a free name and behind its fence; cut behind HSET N, it has no end until a touch or
-- next gives it one.
local call, lock, line, side = redis.call, KEYS[1], KEYS[2], KEYS[4]
call('PEXPIRE', line, '2100000')
local time, field, left = call('TIME'), call('HRANDFIELD', lock), call('PTTL', lock)
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local head = call('LRANGE', line, '0', '1')
local stamp, stranger = string.format('%.0f', now), field and string.byte(field, 33) ~= 58
if field and (#field < 38 or not string.find(field, '^[%x-]+:%x+$')) then
    return redis.error_reply('LKKIND the name is of another kind')
elseif field then
    if left == -1 then -- an owner was cut off before its end
        call('PEXPIRE', lock, stranger and '30000' or '3000')
    end
    if stranger then
        call('HSET', side, 'met', stamp)
        call('PEXPIRE', side, '4500000')
    end
    return 0
end
if head[1] == 'others' then
    local heard = redis.pcall('PUBSUB', 'NUMSUB', ARGV[2])
    local fair = redis.pcall('LLEN', ARGV[3])
    local listens = ARGV[4] == '1' or (heard[2] or 0) > 0 or
        type(fair) == 'number' and fair > 0
    local known = call('HMGET', side, 'open', 'met', 'vain')
    local open, met = tonumber(known[1]) or 0, tonumber(known[2]) or 0
    local since, came, t = now - open, met >= open, math.floor(now / 50) % 65521
    local rest = (listens and 150 or 12) - since
    if came then
        rest = t * t % 65521 * t % 65521 * 40503 % 65521 < 26208 and 50 - now % 50 or 0
    end
    if since >= 0 and since <= 650 and rest > 0 then -- their turn lasts
        if ARGV[5] == '' then
            return -rest
        end
        local old, us = call('GET', KEYS[3]) or '0', time[1] * 1000000 + time[2]
        local fence = math.max(us, tonumber(old) or 0) + 16
        if string.find(old, '%D') then
            return redis.error_reply('LKLAYOUT the name is of another layout')
        elseif fence > 9007199254740991 then
            return redis.error_reply('LKRANGE the name has no more fences')
        end
        call('SET', KEYS[3], string.format('%.0f', fence), 'PX', '4500000')
        call('HSET', lock, ARGV[5], '1')
        call('PEXPIRE', lock, '3000')
        call('HSET', side, 'met', stamp)
        call('PEXPIRE', side, '4500000')
        return fence
    elseif came then -- or it never began: the close puts the marker back
        call('HSET', side, 'open', '0', 'vain', '0')
    else -- it was in vain
        local vain = (tonumber(known[3]) or 0) + 1
        local near = listens or math.abs(now - met) < 10000
        rest = near and math.min(250 * 2 ^ vain, 16000) or 16000
        local till = string.format('%.0f', now + rest)
        call('LPOP', line)
        call('HSET', side, 'open', '0', 'vain', vain, 'rest', till)
        table.remove(head, 1)
    end
    call('PEXPIRE', side, '4500000')
end
local first = head[1] == 'others' and head[2] or head[1]
local client = string.sub(first or '', 1, 32)
if not first then
    return 0
elseif first == 'others' or client == ARGV[1] then -- a marker alone: the close drops it
    return 1
end
return math.abs(now - (call('HGET', side, client) or 0)) > 2000 and 2 or 1
