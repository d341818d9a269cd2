-- Says how many permits there are.
--
-- KEYS    N, Z, side
-- ARGV    number, how (x: only where there is none yet; s), ruled by Java as well (1, 0),
--         Redisson's channel
-- returns how many there were, -1 there was no semaphore; of x: how many there are, -1 it
--         was made. Behind an s: next
--
-- Who holds keeps its permits: the counter may be below 0. Cut behind `n`, next ends it.
local call, side = redis.call, KEYS[3]
local free, size = tonumber(call('GET', KEYS[1])), call('ZCARD', KEYS[2])
call('PEXPIRE', side, '4500000')
if ARGV[2] == 'x' and (free or size > 0) then
    return (free or 0) + size
end
call('HSET', side, 'n', ARGV[3] == '1' and '0' or ARGV[1])
call('PEXPIRE', side, '4500000')
if free then
    call('INCRBY', KEYS[1], string.format('%d', ARGV[1] - free - size))
else
    call('SET', KEYS[1], string.format('%d', ARGV[1] - size))
end
redis.pcall('PUBLISH', ARGV[4], ARGV[1])
return free and free + size or -1
