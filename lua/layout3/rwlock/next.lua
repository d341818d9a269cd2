-- Takes out dead readers, and lets the first writer or the upgrade in where nobody else
-- is left.
--
-- KEYS    N, writers' line, readers' line, fence, side, line of upgradeable readers
-- ARGV    inbox (a channel up to the client in it), what stands before a claim in the
--         name of its timeout key
-- returns 0 it is held as it should be, 1 nobody waits, 2 somebody came in, 3 again,
--         4 readers are next: admit, -ms it is the outsiders' turn for so long
--
-- A field without its T is nobody; what was not seen lives. N is lowered to the longest T
-- where all were seen, and nowhere else. An upgrade stays, heard or not: its client may
-- believe in its read, and its touch finds the write.
local call, lock, line, side = redis.call, KEYS[1], KEYS[2], KEYS[5]
call('PEXPIRE', line, '2100000')
local mode, up = call('HGET', lock, 'mode'), call('HGET', side, 'u')
local count = call('HLEN', lock) - 1
local gone, long, sum, there = {}, 0, 0, false
if not mode and count >= 0 then
    return redis.error_reply('LKKIND the name is of another kind')
elseif call('PTTL', lock) == -1 then
    call('PEXPIRE', lock, '3000') -- somebody was cut off between a field and its end
end
local all = mode == 'read' and call('HRANDFIELD', lock, '64', 'WITHVALUES') or {}
for i = 1, #all, 2 do
    local most = string.sub(all[i], -6) == ':write' and 0 or tonumber(all[i + 1])
    local left = (all[i] == 'mode' or sum >= 256) and 0 or -2
    for j = 1, left == -2 and math.min(most or 1, 64) or 0 do
        local key = redis.pcall('PTTL', ARGV[2] .. all[i] .. ':rwlock_timeout:' .. j)
        left = math.max(left, type(key) == 'number' and key or 600000) -- not seen: there
        sum = sum + 1
    end
    long, there = math.max(long, left), there or left > 0 and all[i] == up
    gone[#gone + 1] = left == -2 and all[i] or nil
end
if mode and (mode == 'read' and count == #gone or count == 0) then
    call('DEL', lock)
    mode, count = false, 0
elseif #gone > 0 then
    call('HDEL', lock, unpack(gone))
    count = count - #gone
end
if mode == 'read' and count < 64 and sum < 256 and call('PTTL', lock) > long then
    call('PEXPIRE', lock, long)
elseif mode == 'write' then
    return 0
end
local first, due = call('LINDEX', line, '0'), call('LPOS', KEYS[3], 'phase')
if first == 'others' then
    local time, open = call('TIME'), tonumber(call('HGET', side, 'open') or 0)
    local left = 150 - time[1] * 1000 - math.floor(time[2] / 1000) + open
    if not mode and left > 0 and left <= 150 then
        return -left
    end
    call('LPOP', line)
    call('HDEL', side, 'open')
    return 3
elseif due or not first then
    return call('EXISTS', KEYS[3], KEYS[6]) > 0 and 4 or 1
end
local rises = string.sub(first, 50, 50) == 'u'
if count > 0 and not (rises and count == 1 and there) then
    return 0
end
call('LPOP', line)
if #first ~= 66 or rises and count < 1 then
    return 3 -- no member, or its reader is gone
end
local time, old = call('TIME'), call('GET', KEYS[4]) or '0'
local fence = math.max(tonumber(old), time[1] * 1000000 + time[2]) + 16
call('SET', KEYS[4], string.format('%d', fence), 'PX', '4500000')
if count > 0 then
    call('PEXPIRE', lock, math.max(call('PTTL', lock), 3000))
end
call('HSET', lock, 'mode', 'write', string.sub(first, 1, 49) .. ':write', '1')
if count > 0 then
    call('HDEL', lock, up)
else
    call('PEXPIRE', lock, '3000')
end
local text = 'g' .. first .. string.format(' %d ', fence) .. lock
local heard = redis.pcall('PUBLISH', ARGV[1] .. string.sub(first, 1, 32), text) ~= 0
if heard or rises then
    return 2
end
local before = call('HGET', side, 'last') or ''
local last = string.sub(before .. first, -528)
call('HSET', side, 'p' .. first, before, 'last', last)
call('PEXPIRE', side, '4500000')
call('DEL', lock)
return 3
