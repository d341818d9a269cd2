-- Says that a client lives, and what became of its members.
--
-- KEYS    N, writers' line, readers' line, fence, side, line of upgradeable readers
-- ARGV    client, what stands before a claim in the name of its timeout key, Redisson's
--         channel, depth (1,000; 0: no end), then of each its line (2, 3, 6) and member
-- returns ms that those who hold have, of a reader the earlier end of N and its T; if
--         none does, ms of N; of each member: 0 over, 1 waits, 2 waits: next, too, 3
--         waits, was parked until now, -1 not known, or it holds: its fence
--
-- Nobody is made an owner. First a write that a replica refuses, a full server does not.
local call, lock, side = redis.call, KEYS[1], KEYS[5]
for i = 2, 6, 2 do
    call('PEXPIRE', KEYS[i], i == 4 and '4500000' or '2100000')
end
call('PEXPIRE', KEYS[3], '2100000')
local time, mode, left = call('TIME'), call('HGET', lock, 'mode'), call('PTTL', lock)
local now, told = time[1] * 1000 + math.floor(time[2] / 1000), {0}
local waits, ends = false, nil
if mode and left == -1 then
    call('PEXPIRE', lock, '3000') -- somebody was cut off between a field and its end
    left = 3000
end
for i = #ARGV - 1, 5, -2 do
    local line, member, at = KEYS[ARGV[i] + 0], ARGV[i + 1], (i - 1) / 2
    local claim, own = string.sub(member, 1, 49), nil
    local field = ARGV[i] == '2' and claim .. ':write' or claim
    if call('LPOS', line, member, 'MAXLEN', ARGV[4]) then
        told[at] = 1
    elseif call('HEXISTS', lock, field) == 1 then
        if ARGV[i] == '2' then
            local old = string.sub(member, 50, 50) == 'u' and call('HGET', side, 'u')
            local beside = old and call('HEXISTS', lock, old) or 0 -- its own read
            own = mode == 'write' and call('HLEN', lock) == 2 + beside and left
        else
            local key = ARGV[2] .. claim .. ':rwlock_timeout:1'
            own = mode == 'read' and redis.pcall('PTTL', key)
            own = type(own) == 'number' and own > 0 and math.min(own, left)
        end
        if own then
            told[at] = tonumber(call('GET', KEYS[4]) or 3)
            ends = math.min(ends or own, own)
            call('HDEL', side, 'p' .. member)
        else
            call('HDEL', lock, field)
            told[at] = 0
        end
    else
        local before = call('HGET', side, 'p' .. member)
        told[at] = before and 3 or call('LLEN', line) > 1000 and -1 or 0
        if before then -- back behind the nearest of those that stood before it
            call('HDEL', side, 'p' .. member)
            local anchor = call('LINDEX', line, '0') == 'others' and 'others'
            for j = #before - 65, 1, -66 do
                local one = string.sub(before, j, j + 65)
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
    end
    waits = waits or not own and told[at] ~= 0
end
told[1] = ends or left
if not waits then
    return told
end
local ups = call('LPOS', KEYS[3], 'ups', 'MAXLEN', '1000')
if not ups and call('EXISTS', KEYS[6]) == 1 then
    call('RPUSH', KEYS[3], 'ups')
    call('PEXPIRE', KEYS[3], '2100000')
end
local first = call('LINDEX', KEYS[2], '0')
local stamp = string.format('%d', now)
call('HSET', side, ARGV[1], stamp)
call('PEXPIRE', side, '4500000')
local calls = not mode or mode == 'read' and (not first or call('LPOS', KEYS[3], 'phase'))
for i = 5, #ARGV, 2 do
    local at = (i - 1) / 2
    if told[at] == 1 and (calls or ARGV[i] == '2' and first == ARGV[i + 1]) then
        told[at] = 2
    end
end
return told
