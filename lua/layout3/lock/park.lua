-- SPDX-License-Identifier: MIT
--
-- Takes the frozen out of the line, so that any number of them cost one claim lease. Sent
-- where next says that the first is silent.
--
-- KEYS    line, side
-- ARGV    client
-- returns how many of the first 64 it parked; 64: again
--
-- Frozen is a waiter that stood in line 2 s ago and is silent for 2 s; but nobody is
-- where all were silent for 1.5 s: the server stood still, or its clock went. A full
-- server accepts the first write. Cut behind LREM, a place is lost.
local call, line, side = redis.call, KEYS[1], KEYS[2]
call('PEXPIRE', line, '2100000')
local time, all = call('TIME'), call('LRANGE', line, '0', '63')
local now, asked = time[1] * 1000 + math.floor(time[2] / 1000), {'t', 'at', 'at0', 'last'}
for i = 1, #all do
    asked[i + 4] = string.sub(all[i], 1, 32)
end
local stamp, seen = string.format('%.0f', now), call('HMGET', side, unpack(asked))
local stood, at, gap = 0, seen[2] or '', math.abs(now - (seen[1] or 0)) > 1500
for n = 2, gap and 1 or 3 do
    local note = seen[n] or ''
    local age = now - (tonumber(string.sub(note, 1, 13)) or now)
    for j = #note - 65, (stood == 0 and math.abs(age) > 2000) and 14 or #note, -66 do
        local one = string.sub(note, j, j + 65)
        stood = (call('LPOS', line, one, 'MAXLEN', '1000') or -1) + 1
        if stood > 0 then
            break
        end
    end
end
local set, tail = {'t', stamp}, call('LRANGE', line, '-8', '-1')
if gap or math.abs(now - (tonumber(string.sub(at, 1, 13)) or 0)) > 2000 then
    set = {'t', stamp, 'at0', gap and '' or at, 'at', stamp .. table.concat(tail)}
end
call('HSET', side, unpack(set))
call('PEXPIRE', side, '4500000')
local before, last, parked = seen[4] or '', seen[4] or '', 0
for i = 1, #all do
    local one, silent = all[i], math.abs(now - (seen[i + 4] or 0)) > 2000
    if i <= stood and #one == 66 and asked[i + 4] ~= ARGV[1] and silent then
        call('LREM', line, '1', one)
        last = string.sub(last .. one, -528)
        call('HSET', side, 'p' .. one, before, 'last', last)
        parked = parked + 1
    end
    before = string.sub(before .. one, -528)
end
return parked
