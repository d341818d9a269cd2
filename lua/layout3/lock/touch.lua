-- SPDX-License-Identifier: MIT
--
-- Says that a client is there, and what has become of its claims.
--
-- KEYS    N, line, fence, side
-- ARGV    client, Redisson's channel, Redisson's fair queue, 1 if outsiders are known of
--         (interop, or the caller spins) or 0, members (none of one that spins)
-- returns the ms that the holder has left (-2: free, so next), then of each member: 0 it
--         is over, 1 waits, 2 waits and contends with outsiders, -1 not known (deep in a
--         long line), or the fence with which it holds
--
-- A replica refuses the first write. Nobody becomes an owner here. A claim holds if it
-- stands alone in N; beside another it goes. A note of a parked one goes before its place
-- returns: cut between, the place is lost, never doubled.
local call, lock, line, side = redis.call, KEYS[1], KEYS[2], KEYS[4]
call('PEXPIRE', line, '2100000')
local time, field = call('TIME'), call('HRANDFIELD', lock)
local now, answer = time[1] * 1000 + math.floor(time[2] / 1000), {call('PTTL', lock)}
local stamp, waits = string.format('%.0f', now), #ARGV == 4
local stranger = field and string.byte(field, 33) ~= 58
if field and (#field < 38 or not string.find(field, '^[%x-]+:%x+$')) then
    return redis.error_reply('LKKIND the name is of another kind')
elseif answer[1] == -1 then -- an owner was cut off before its end
    answer[1] = stranger and 30000 or 3000
    call('PEXPIRE', lock, answer[1])
end
-- Of one alone the whole line is asked now and then, so that it is not unknown for ever.
local depth = (#ARGV > 5 or now % 16 > 0) and '1000' or '0'
for i = #ARGV, 5, -1 do
    local member, state = ARGV[i], 1
    local claim, before = string.sub(member, 1, 49), nil
    if not call('LPOS', line, member, 'MAXLEN', depth) then
        if field and call('HEXISTS', lock, claim) == 1 then
            call('HDEL', side, 'p' .. member)
            if call('HLEN', lock) == 1 then
                state = tonumber(call('GET', KEYS[3]) or now * 1000)
            else
                state = call('HDEL', lock, claim) * 0
            end
        else
            local deep = depth ~= '0' and call('LLEN', line) > 1000
            before = call('HGET', side, 'p' .. member)
            state = before and 1 or deep and -1 or 0
        end
    end
    if before then
        call('HDEL', side, 'p' .. member)
        local other = call('LINDEX', line, '0') == 'others' and 'others'
        for j = #before - 65, 1, -66 do
            local one = string.sub(before, j, j + 65)
            if call('LPOS', line, one, 'MAXLEN', '64') then
                other = one
                break
            end
        end
        if not other or call('LINSERT', line, 'AFTER', other, member) < 1 then
            call('LPUSH', line, member)
            call('PEXPIRE', line, '2100000')
        end
    end
    answer[i - 3], waits = state, waits or state == 1 or state == -1
end
if not waits then
    return answer
end
-- Who waits since when. A pause of the server, or a step of its clock, judges nobody.
local was = call('HMGET', side, 't', 'at', 'asked', 'rest')
local set, at = {ARGV[1], stamp, 't', stamp}, was[2] or ''
local gap = math.abs(now - (tonumber(was[1] or 0))) > 1500
if gap or math.abs(now - (tonumber(string.sub(at, 1, 13)) or 0)) > 2000 then
    set[5], set[6] = 'at0', gap and '' or at
    set[7], set[8] = 'at', stamp .. table.concat(call('LRANGE', line, '-8', '-1'))
end
-- Outsiders have a marker at the head of the line.
local head, rest = call('LRANGE', line, '0', '1'), (tonumber(was[4]) or 0) - now
local marked, asked = head[1] == 'others', (tonumber(was[3]) or 0) - now
if stranger then
    set[#set + 1], set[#set + 2] = 'met', stamp
end
if field and not marked and (rest <= 0 or rest > 17000) then
    local heard = redis.pcall('PUBSUB', 'NUMSUB', ARGV[2])
    local fair = redis.pcall('LLEN', ARGV[3])
    local seen = stranger or ARGV[4] == '1' or (heard[2] or 0) > 0 or
        type(fair) == 'number' and fair > 0
    local probe = not seen and (asked <= 0 or asked > 17000)
    if probe then -- for those whom nobody sees
        set[#set + 1], set[#set + 2] = 'asked', string.format('%.0f', now + 16000)
    end
    if seen or probe and was[3] then
        call('LPUSH', line, 'others')
        call('PEXPIRE', line, '2100000')
    end
end
call('HSET', side, unpack(set))
call('PEXPIRE', side, '4500000')
for i = 5, (stranger or marked and answer[1] == -2) and #ARGV or 0 do
    if ARGV[i] == head[marked and 2 or 1] then
        answer[i - 3] = 2
    end
end
return answer
