-- Ends a write. The readers that wait come in, or else the first writer.
--
-- KEYS    N, writers' line, readers' line, fence, side
-- ARGV    claim, inbox (a channel up to the client in it), Redisson's channel, what
--         stands before a claim in the name of its timeout key, claims of reads of its
--         own
-- returns 0 it did not hold, 1 free, or its own read stays and nobody waits, 2 others
--         came in, 3 next at once
--
-- A reader's T stands before its field, its field before the writer's goes; the hash is
-- never shortened. Beside another writer, which a cut left, it takes itself out alone.
local call, lock, side, prev = redis.call, KEYS[1], KEYS[5], ARGV[1] .. ':write'
if call('HEXISTS', lock, prev) == 0 then
    call('HDEL', lock, '')
    return 0
end
local own, count = 0, call('HLEN', lock)
for i = 5, #ARGV do
    own = own + call('HEXISTS', lock, ARGV[i])
end
if count > 2 + own then
    call('HDEL', lock, prev)
    return 1
elseif own == 0 and call('EXISTS', KEYS[2], KEYS[3]) == 0 then
    call('DEL', lock)
    redis.pcall('PUBLISH', ARGV[3], '1')
    return 1
end
local all = call('LPOP', KEYS[3], '64') or {}
if own == 0 and #all == 0 then
    call('DEL', lock)
    return 3 -- next gives it to the first writer
end
call('PEXPIRE', lock, math.max(call('PTTL', lock), 3000))
local fields, told, due = {}, {}, #all == 64
for i = 1, #all do
    local to = string.sub(all[i], 1, 49)
    due = due or all[i] == 'ups'
    local key = ARGV[4] .. to .. ':rwlock_timeout:1'
    if #all[i] == 66 and not redis.pcall('SET', key, '1', 'PX', '3000').err then
        fields[#fields + 1], fields[#fields + 2], told[#told + 1] = to, '1', all[i]
    end
end
call('HSET', lock, 'mode', 'read', unpack(fields))
call('HDEL', lock, prev)
local tail, before = ' ' .. (call('GET', KEYS[4]) or '3') .. ' ' .. lock, nil
local heard = own > 0
for i, member in ipairs(told) do
    local inbox = ARGV[2] .. string.sub(member, 1, 32)
    if redis.pcall('PUBLISH', inbox, 'g' .. member .. tail) ~= 0 then
        heard = true
    else
        call('HDEL', lock, fields[i * 2 - 1])
        before = before or call('HGET', side, 'last') or ''
        local last = string.sub(before .. member, -528)
        call('HSET', side, 'p' .. member, before, 'last', last)
        call('PEXPIRE', side, '4500000')
        before = last
    end
end
if not heard then
    call('DEL', lock)
    return 3
elseif due then
    call('RPUSH', KEYS[3], 'phase') -- those before it are due although a writer waits
    call('PEXPIRE', KEYS[3], '2100000')
    return 3
end
return #told > 0 and 2 or 1
