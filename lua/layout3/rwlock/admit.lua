-- Lets readers that wait in, 64 in a call, and one upgradeable reader if none holds.
--
-- KEYS    N, writers' line, readers' line, fence, side, line of upgradeable readers
-- ARGV    inbox (a channel up to the client in it), what stands before a claim in the
--         name of its timeout key
-- returns 0 it is not the readers' turn, 1 nobody came in, 2 some did, 3 again
--
-- Where a writer waits, those before the marker `phase` are due, and nobody else. T
-- stands before the field; an old hash gets its end first, a fresh one its field.
local call, lock, line, side, base = redis.call, KEYS[1], KEYS[3], KEYS[5], ARGV[2]
call('PEXPIRE', line, '2100000')
local mode, left = call('HGET', lock, 'mode'), call('PTTL', lock)
local due, up = call('LPOS', line, 'phase'), call('HGET', side, 'u')
if not mode and left ~= -2 then
    return redis.error_reply('LKKIND the name is of another kind')
elseif mode == 'write' or not due and call('EXISTS', KEYS[2]) == 1 then
    return 0
end
local all = call('LPOP', line, due and math.min(due + 1, 64) or 64) or {}
if up then
    up = call('HEXISTS', lock, up) == 1 and
        redis.pcall('EXISTS', base .. up .. ':rwlock_timeout:1') ~= 0
end
local plain = #all
all[plain + 1] = not up and call('LPOP', KEYS[6]) or nil
if call('EXISTS', KEYS[6]) == 1 then
    call('RPUSH', line, 'ups')
    call('PEXPIRE', line, '2100000')
end
local fields, told = {'mode', 'read'}, {}
for i, member in ipairs(all) do
    local to = string.sub(member, 1, 49)
    local key = base .. to .. ':rwlock_timeout:1'
    if #member == 66 and not redis.pcall('SET', key, '1', 'PX', '3000').err then
        fields[#fields + 1], fields[#fields + 2], told[#told + 1] = to, '1', member
        if i > plain then
            call('HSET', side, 'u', to)
            call('PEXPIRE', side, '4500000')
        end
    end
end
if #told == 0 then
    return plain > 0 and call('EXISTS', line) == 1 and 3 or 1
end
if mode then
    call('PEXPIRE', lock, math.max(left, 3000))
end
call('HSET', lock, unpack(fields))
if not mode then
    call('PEXPIRE', lock, '3000')
end
local tail, before, heard = ' ' .. (call('GET', KEYS[4]) or '3') .. ' ' .. lock, nil, 0
for i, member in ipairs(told) do
    local inbox = ARGV[1] .. string.sub(member, 1, 32)
    if redis.pcall('PUBLISH', inbox, 'g' .. member .. tail) ~= 0 then
        heard = heard + 1
    else
        call('HDEL', lock, fields[i * 2 + 1])
        before = before or call('HGET', side, 'last') or ''
        local last = string.sub(before .. member, -528)
        call('HSET', side, 'p' .. member, before, 'last', last)
        call('PEXPIRE', side, '4500000')
        before = last
    end
end
if heard == 0 and not mode then
    call('DEL', lock)
end
return plain == 64 and call('EXISTS', line) == 1 and 3 or heard > 0 and 2 or 1
