-- All that is done to a counter but taking: gives back, adds, sets, drains, deletes.
--
-- KEYS    N, line, memo, side
-- ARGV    number of the change, what (b back, a add or, below 0, take away, s set,
--         d drain, x delete), amount, only (b: its generation; a: 1, only if there is
--         one), ttl in ms or 0, Redisson's channel, number of a settled change or ''
-- returns nil it is unset; of s: 0 it was set; of d how many it took; otherwise, and of
--         s, 1 done, 2 done and somebody waits: tell
--
-- Each is noted for 11 minutes and made once, however often it is asked. What raises is
-- noted before it is made, what lowers behind it: a cut loses permits and doubles none.
-- Back is a change of its own, so that a hold may last as long as it likes; it counts if
-- the generation is that of the taking: set and delete begin one. A full server refuses
-- to set, first thing, and nothing else.
local call, op, what, n = redis.call, ARGV[1], ARGV[2], tonumber(ARGV[3])
if what ~= 's' then
    call('HDEL', KEYS[3], ARGV[7])
end
local noted, free = call('HGET', KEYS[3], op), tonumber(call('GET', KEYS[1]))
local gen, time = call('HGET', KEYS[4], 'gen'), call('TIME')
local now = time[1] .. string.sub('00000' .. time[2], -6, -4)
local told = (what == 's' or free) and 1
if noted then
    return tonumber(string.sub(noted, 15))
elseif what == 's' and free then
    return 0
elseif not told and (what ~= 'a' or ARGV[4] == '1') or what == 'b' and gen ~= ARGV[4] then
    return nil
elseif what == 'a' and math.abs((free or 0) + n) > 2147483647 then
    return redis.error_reply('LKRANGE that many permits cannot be counted')
end
if what == 'd' then
    told, n = math.max(0, free), -math.max(0, free)
elseif what ~= 'x' and call('EXISTS', KEYS[2]) == 1 and n > 0 then
    told = 2
end
if n < 0 then
    call('INCRBY', KEYS[1], n)
end
call('HSET', KEYS[3], op, now .. ' ' .. (told or 1))
call('PEXPIRE', KEYS[3], '660000')
if what == 's' or what == 'x' then
    gen = string.format('%d', math.max(now, (tonumber(gen) or 0) + 1))
    call('HSET', KEYS[4], 'gen', gen)
end
if what == 's' then
    call('SET', KEYS[1], ARGV[3])
    if ARGV[5] ~= '0' then
        call('PEXPIRE', KEYS[1], ARGV[5])
    end
    call('PERSIST', KEYS[4])
elseif what == 'x' then
    call('DEL', KEYS[1])
    call('DEL', KEYS[2])
    call('PEXPIRE', KEYS[4], '4500000')
elseif n > 0 then
    free = call('INCRBY', KEYS[1], n)
end
if n > 0 and (what == 's' or free > 0) then
    redis.pcall('PUBLISH', ARGV[6], what == 's' and n or free)
end
return told or 1
