-- Makes a write a read, with a claim of its own.
--
-- KEYS    N, writers' line, readers' line, fence, T of the new claim
-- ARGV    claim that writes, new claim
-- returns f: it reads; -f: it reads, and readers wait: admit; 0 it did not write
--
-- The client believes nothing of the write from the send on. The reader is written before
-- the writer goes; the hash is never shortened.
local call, lock, prev = redis.call, KEYS[1], ARGV[1] .. ':write'
call('HDEL', lock, '')
if call('HEXISTS', lock, prev) == 0 or call('HGET', lock, 'mode') ~= 'write' then
    return 0
end
call('PEXPIRE', lock, math.max(call('PTTL', lock), 3000))
local fence = call('INCRBY', KEYS[4], '16')
call('SET', KEYS[5], '1', 'PX', '3000')
if call('EXISTS', KEYS[3]) == 1 then
    call('RPUSH', KEYS[3], 'phase') -- those before it are due although a writer waits
    call('PEXPIRE', KEYS[3], '2100000')
    fence = -fence
end
call('HSET', lock, 'mode', 'read', ARGV[2], '1')
call('HDEL', lock, prev)
return fence
