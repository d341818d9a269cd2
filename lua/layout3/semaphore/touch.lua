-- Says that a client lives, and what became of its members. A client sends it each second
-- for all that wait, and when a reply or a message of theirs may be lost.
--
-- KEYS    N, Z, line, fence, side
-- ARGV    client, Redisson's channel, skew, depth (1,000; one touch of 16 of a single
--         member: 0, no end), members
-- returns left: ms that those who hold have; if none does, ms to the first end of a lease
--         of each member: 0 over, 1 waits, 2 waits and something may be given: next, 3
--         waits, was parked until now, -1 not known, or it holds: a fence of its own
--
-- Nobody is made an owner. First a write that a replica refuses, a full server does not.
local call, zset, line, side = redis.call, KEYS[2], KEYS[3], KEYS[5]
call('PEXPIRE', line, '2100000')
local time, told, waits, left = call('TIME'), {0}, false, nil
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = #ARGV, 5, -1 do
    local member, place = ARGV[i], i - 3
    local ends = tonumber(call('ZSCORE', zset, string.sub(member, 1, 49)) or 0)
    if call('LPOS', line, member, 'MAXLEN', ARGV[4]) then
        told[place] = 1
    elseif ends > 2 then
        told[place] = call('INCR', KEYS[4])
        if told[place] < 1000000000000 then -- the counter was lost: on from the clock
            told[place] = time[1] * 1000000 + time[2]
            call('SET', KEYS[4], string.format('%d', told[place]), 'PX', '4500000')
        end
        call('HDEL', side, 'p' .. member)
        left = math.min(left or ends, ends)
    else
        local before = call('HGET', side, 'p' .. member)
        told[place] = before and 3 or call('LLEN', line) > 1000 and -1 or 0
        if before then -- back behind the nearest of those that stood before it
            call('HDEL', side, 'p' .. member)
            local anchor = call('LINDEX', line, '0')
            local found = anchor == 'others'
            for j = #before - 70, 1, -71 do
                local one = string.sub(before, j, j + 70)
                if call('LPOS', line, one, 'MAXLEN', '64') then
                    anchor, found = one, true
                    break
                end
            end
            if found then
                call('LINSERT', line, 'AFTER', anchor, member)
            else
                call('LPUSH', line, member)
            end
            call('PEXPIRE', line, '2100000')
        end
    end
    waits = waits or told[place] ~= 0 and told[place] < 4
end
local first = call('ZRANGE', zset, '0', '0', 'WITHSCORES')
local skew = string.byte(first[1] or '', 33) == 58 and 0 - ARGV[3] or 0 + ARGV[3]
local ends = (first[2] or now) + skew -- when the first lease is over
told[1] = math.max(0, left and left - ARGV[3] - now or ends - now)
if not waits then
    return told
end
local free, head = tonumber(call('GET', KEYS[1])) or 0, call('LINDEX', line, '0') or ''
local known = call('HMGET', side, 'n', 't', 'at', 'at0', 'rest', string.sub(head, 1, 32))
local stamp, all = string.format('%d', now), free + call('ZCARD', zset)
local gap = math.abs(now - (known[2] or 0)) > 1500 -- all were silent: judges nobody
local at, at0 = known[3] or '', known[4] or ''
local age = now - (tonumber(string.sub(at, 1, 13)) or 0)
if gap or age > 2000 or age < 0 then
    at0 = gap and '' or at
    at = stamp .. table.concat(call('LRANGE', line, '-8', '-1'))
end
call('HSET', side, ARGV[1], stamp, 't', stamp, 'at', at, 'at0', at0)
call('PEXPIRE', side, '4500000')
local need = #head == 71 and tonumber(string.sub(head, 68)) or 0
local n = tonumber(known[1]) or 0
if first[1] and ends <= now or n ~= 0 and n ~= all or need > 1 and need > all or
    free > 0 and (need <= free or math.abs(now - (known[6] or 0)) > 2000) then
    for i = 2, #told do
        told[i] = told[i] == 1 and 2 or told[i]
    end
elseif head ~= 'others' and math.abs((known[5] or 0) - now - 8000) >= 8000 then
    local heard = redis.pcall('PUBSUB', 'NUMSUB', ARGV[2])
    if (tonumber(heard[2]) or 0) > 0 then -- outsiders wait as well
        call('LPUSH', line, 'others')
        call('PEXPIRE', line, '2100000')
    end
end
return told
