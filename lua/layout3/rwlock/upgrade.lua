-- Makes the upgradeable reader a writer, with a claim of its own, or has it wait for the
-- other readers to go.
--
-- KEYS    N, writers' line, readers' line, fence, side, T of the old claim
-- ARGV    claim that reads, new claim, member of kind u of the new one, or '': it tries
-- returns f > 0: it writes; 0 it waits, or is refused, and reads on; -1 it is not the
--         upgradeable reader that holds
--
-- The client believes nothing of the read from the send on; 0 gives it back. The writer
-- is written before the reader goes; the hash is never shortened.
local call, lock, old = redis.call, KEYS[1], ARGV[1]
call('HDEL', lock, '')
if call('HGET', KEYS[5], 'u') ~= old or call('HGET', lock, 'mode') ~= 'read' or
    call('HEXISTS', lock, old) == 0 or call('EXISTS', KEYS[6]) == 0 then
    return -1
elseif call('HLEN', lock) > 2 then
    if ARGV[3] ~= '' then
        local marked = call('LINDEX', KEYS[2], '0') == 'others'
        if marked then
            call('LINSERT', KEYS[2], 'AFTER', 'others', ARGV[3])
        else
            call('LPUSH', KEYS[2], ARGV[3])
        end
        call('PEXPIRE', KEYS[2], '2100000')
    end
    return 0
end
call('PEXPIRE', lock, math.max(call('PTTL', lock), 3000))
local fence = call('INCRBY', KEYS[4], '16')
call('HSET', lock, 'mode', 'write', ARGV[2] .. ':write', '1')
call('HDEL', lock, old)
call('DEL', KEYS[6])
return fence
