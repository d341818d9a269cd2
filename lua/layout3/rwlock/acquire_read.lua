-- Reads: joins other readers, takes a free name, waits in the readers' line, or tells a
-- try that it is refused.
--
-- KEYS    N, writers' line, readers' line, fence, T (the claim's timeout key)
-- ARGV    claim, lease of at most 3,000 ms, member or '' (a try), field of its own writer
--         or ''
-- returns f > 0: it holds, f is the last writer's fence, 3 where none was
--         waits: -2n in place n, -2n - 1 if nobody holds: next
--         try:   -2 - ms that the hash has, 0 free with a line: next
--
-- T before the field; an old hash gets its end first and is never shortened, a fresh one
-- its field.
local call, lock, lease = redis.call, KEYS[1], tonumber(ARGV[2])
local mode = call('HGET', lock, 'mode')
if not mode and call('EXISTS', lock, KEYS[2]) == 0 then
    call('SET', KEYS[5], '1', 'PX', ARGV[2])
    call('HSET', lock, 'mode', 'read', ARGV[1], '1')
    call('PEXPIRE', lock, ARGV[2])
    return tonumber(call('GET', KEYS[4]) or 3)
end
local left = call('PTTL', lock)
if mode == 'read' and call('EXISTS', KEYS[2]) == 0 or
    mode == 'write' and ARGV[4] ~= '' and call('HEXISTS', lock, ARGV[4]) == 1 then
    call('SET', KEYS[5], '1', 'PX', ARGV[2])
    if left < lease then
        call('PEXPIRE', lock, ARGV[2])
    end
    call('HSET', lock, ARGV[1], '1')
    return tonumber(call('GET', KEYS[4]) or 3)
elseif not mode and left ~= -2 then
    return redis.error_reply('LKKIND the name is of another kind')
elseif ARGV[3] == '' then
    return -2 - left
end
local place = call('RPUSH', KEYS[3], ARGV[3])
if place == 1 then
    call('PEXPIRE', KEYS[3], '2100000')
end
return -2 * place - (left == -2 and 1 or 0)
