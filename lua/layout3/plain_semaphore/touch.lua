-- Says that a client lives, and what became of its members. The first of the line takes
-- by its own touch, if enough are free: nothing would end permits that were handed over.
--
-- KEYS    N, line, memo, side
-- ARGV    client, depth (1,000; one touch of 16 of a single member: 0, no end), members
-- returns of each member: 0 over, 1 waits, 2 waits while the first is silent: park, then
--         tell, 3 waits, was parked until now, -1 not known, g: it has its permits
--         (more than 10^12), as take
--
-- Lowered, noted, out of the line: what a cut leaves noted and in the line is found by
-- the note. First a write that a replica refuses, a full server does not.
local call, line, memo, side = redis.call, KEYS[2], KEYS[3], KEYS[4]
call('PEXPIRE', line, '2100000')
local time, told, waits = call('TIME'), {}, false
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stamp, free = string.format('%d', now), tonumber(call('GET', KEYS[1]))
for i = #ARGV, 3, -1 do
    local member, claim = ARGV[i], string.sub(ARGV[i], 1, 49)
    local place, before = call('LPOS', line, member, 'MAXLEN', ARGV[2]), false
    local noted, need = call('HGET', memo, claim), tonumber(string.sub(member, 68))
    if noted then
        call('LREM', line, '1', member)
        told[i - 2] = tonumber(string.sub(noted, 15))
    elseif not free then
        told[i - 2] = 0
    elseif place == 0 and free >= need then
        local gen = call('HGET', side, 'gen') or stamp
        free = call('DECRBY', KEYS[1], need)
        call('HSET', memo, claim, stamp .. ' ' .. gen)
        call('PEXPIRE', memo, '660000')
        call('LPOP', line)
        call('HSETNX', side, 'gen', gen)
        told[i - 2] = tonumber(gen)
    elseif place then
        told[i - 2] = 1
    else
        before = call('HGET', side, 'p' .. member)
        told[i - 2] = before and 3 or call('LLEN', line) > 1000 and -1 or 0
    end
    if before then -- back behind the nearest of those that stood before it
        call('HDEL', side, 'p' .. member)
        local anchor
        for j = #before - 70, 1, -71 do
            local one = string.sub(before, j, j + 70)
            if call('LPOS', line, one, 'MAXLEN', '64') then
                anchor = one
                break
            end
        end
        if anchor then
            call('LINSERT', line, 'AFTER', anchor, member)
        else
            call('LPUSH', line, member)
        end
        call('PEXPIRE', line, '2100000')
    end
    waits = waits or told[i - 2] ~= 0 and told[i - 2] < 4
end
if not waits then
    return told
end
local head = call('LINDEX', line, '0') or ''
local known = call('HMGET', side, 't', 'at', 'at0', string.sub(head, 1, 32))
local gap = math.abs(now - (known[1] or 0)) > 1500 -- all were silent: judges nobody
local at, at0 = known[2] or '', known[3] or ''
local age = now - (tonumber(string.sub(at, 1, 13)) or 0)
if gap or age > 2000 or age < 0 then
    at0 = gap and '' or at
    at = stamp .. table.concat(call('LRANGE', line, '-8', '-1'))
end
call('HSET', side, ARGV[1], stamp, 't', stamp, 'at', at, 'at0', at0)
if (free or 0) >= (tonumber(string.sub(head, 68)) or 1) and
    math.abs(now - (known[4] or 0)) > 2000 then
    for i = 1, #told do
        told[i] = told[i] == 1 and 2 or told[i]
    end
end
return told
