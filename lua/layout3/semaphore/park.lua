-- Parks the frozen of the line and takes out who needs more than there are. Sent where
-- next returned 2, and once a second by a client whose tries are refused.
--
-- KEYS    N, Z, line, side; of a plain semaphore N, N, line, side
-- ARGV    client
-- returns how many of the first 64 it took out; 64: again
--
-- Frozen is who stood in the line 2 s ago and is silent for 2 s; but nobody is, where for
-- 1.5 s nobody at all was heard: the server stood still. `at` and `at0` of the side say
-- who was last in the line at a time. Cut behind LREM: a place is lost.
local call, line, side = redis.call, KEYS[3], KEYS[4]
call('PEXPIRE', line, '2100000')
local time, here = call('TIME'), call('LRANGE', line, '0', '63')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local clients = {'t', 'at', 'at0', 'last'}
local free = tonumber(call('GET', KEYS[1])) or 0
local plain = KEYS[1] == KEYS[2] -- nobody knows how many there are, its side has no end
local sum = plain and math.huge or free + call('ZCARD', KEYS[2])
for i, member in ipairs(here) do
    clients[i + 4] = string.sub(member, 1, 32)
end
local known, stood = call('HMGET', side, unpack(clients)), 0
local stamp = string.format('%d', now)
local gap = math.abs(now - (known[1] or 0)) > 1500
for k = 2, gap and 0 or 3 do
    local note = known[k] or ''
    local age = now - (tonumber(string.sub(note, 1, 13)) or now)
    for j = #note - 70, age > 2000 and stood == 0 and 14 or #note, -71 do
        local place = call('LPOS', line, string.sub(note, j, j + 70), 'MAXLEN', '1000')
        if place then
            stood = place + 1
            break
        end
    end
end
local out, last, before = 0, known[4] or '', known[4] or ''
for i, member in ipairs(here) do
    local need = #member == 71 and tonumber(string.sub(member, 68)) or 0
    local silent = math.abs(now - (known[i + 4] or 0)) > 2000
    if need > 1 and need > sum then
        out = out + call('LREM', line, '1', member) -- its touch says 0, its acquire why
    elseif free > 0 and need > 0 and silent and i <= stood and
        clients[i + 4] ~= ARGV[1] then
        out = out + call('LREM', line, '1', member)
        last = string.sub(last .. member, -568)
        call('HSET', side, 'p' .. member, before, 'last', last)
    end
    before = string.sub(before .. member, -568)
end
local age = now - (tonumber(string.sub(known[2] or '', 1, 13)) or 0)
if gap or age > 2000 or age < 0 then
    local at = stamp .. table.concat(call('LRANGE', line, '-8', '-1'))
    call('HSET', side, 'at', at, 'at0', gap and '' or known[2] or '')
end
call('HSET', side, 't', stamp)
if not plain then
    call('PEXPIRE', side, '4500000')
end
return out
