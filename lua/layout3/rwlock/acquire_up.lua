-- Reads, and may be upgraded: one at a time, beside other readers.
--
-- KEYS    N, writers' line, readers' line, fence, side, line of upgradeable readers, T
-- ARGV    claim, lease of at most 3,000 ms, member or '' (a try), what stands before a
--         claim in the name of its timeout key
-- returns as acquire_read
--
-- The holder is `u` of the side, if its field and its timeout key live. The marker `ups`
-- in the readers' line says that somebody stands in the third line, too.
local call, lock, side = redis.call, KEYS[1], KEYS[5]
local mode, left = call('HGET', lock, 'mode'), call('PTTL', lock)
local up = call('HGET', side, 'u')
if not mode and left ~= -2 then
    return redis.error_reply('LKKIND the name is of another kind')
end
if up then
    up = call('HEXISTS', lock, up) == 1 and
        redis.pcall('EXISTS', ARGV[4] .. up .. ':rwlock_timeout:1') ~= 0
end
if mode ~= 'write' and not up and call('EXISTS', KEYS[2], KEYS[6]) == 0 then
    call('SET', KEYS[7], '1', 'PX', ARGV[2])
    call('HSET', side, 'u', ARGV[1])
    call('PEXPIRE', side, '4500000')
    if mode and left < tonumber(ARGV[2]) then
        call('PEXPIRE', lock, ARGV[2])
    end
    call('HSET', lock, 'mode', 'read', ARGV[1], '1')
    if not mode then
        call('PEXPIRE', lock, ARGV[2])
    end
    return tonumber(call('GET', KEYS[4]) or 3)
elseif ARGV[3] == '' then
    return -2 - left
end
call('RPUSH', KEYS[3], 'ups')
call('PEXPIRE', KEYS[3], '2100000')
local place = call('RPUSH', KEYS[6], ARGV[3])
call('PEXPIRE', KEYS[6], '2100000')
return -2 * place - ((left == -2 or mode == 'read' and not up) and 1 or 0)
