-- Takes permits that are free, waits in the line for them, or tells a try what there is.
--
-- KEYS    N (the counter), Z ({N}:timeout), line, fence
-- ARGV    claim, lease of at most 3,000 ms and the skew, member (a try: its need alone,
--         4 digits, 1 to 1,000), lift (given: the client's first request for the name on
--         this connection)
-- returns f > 0: it holds
--         waits: -2n in place n, -2n - 1 if permits are free or a lease is over: next
--         try:   -2 - ms to the first end of a lease, 0 something may be given: next
--         -1     the counter is lost, nothing was pushed: next, then the same once more
--         nil    no such semaphore; a text: it has so many permits, fewer than need
--
-- A claim's permits are the members `claim`, `claim:2` .. `claim:need` of Z, of one
-- score, taken from the counter before they stand there: a cut leaves less than N.
local call, zset, line, member = redis.call, KEYS[2], KEYS[3], ARGV[3]
local free, need = tonumber(call('GET', KEYS[1])), tonumber(string.sub(member, -4))
if not free then
    return call('EXISTS', zset) == 1 and -1
end
if ARGV[4] then
    local old, time = call('GET', KEYS[4]) or '0', call('TIME')
    if string.find(old, '%D') then
        return redis.error_reply('LKLAYOUT the name is of another layout')
    end
    local us = math.max(tonumber(old), time[1] * 1000000 + time[2])
    call('SET', KEYS[4], string.format('%d', us), 'PX', '4500000')
end
if free >= need and call('EXISTS', line) == 0 then
    local fence, time = call('INCR', KEYS[4]), call('TIME')
    if fence < 1000000000000 then -- the counter of fences was lost: on from the clock
        local us = time[1] .. string.sub('00000' .. time[2], -6)
        call('SET', KEYS[4], us, 'PX', '4500000')
        fence = call('INCR', KEYS[4])
    elseif fence > 9007199254740991 then
        return redis.error_reply('LKRANGE the name has no more fences')
    end
    call('DECRBY', KEYS[1], need == 1 and '1' or need)
    local till = string.format('%d', time[1] * 1000 + time[2] / 1000 + ARGV[2])
    if need == 1 then
        call('ZADD', zset, till, ARGV[1])
        return fence
    end
    local set = {till, ARGV[1]}
    for j = 2, need do
        set[j * 2 - 1], set[j * 2] = till, ARGV[1] .. ':' .. j
    end
    call('ZADD', zset, unpack(set))
    return fence
end
if need > 1 then
    local all = free + call('ZCARD', zset)
    if need > all then
        return string.format('%d', all)
    end
end
local place = #member == 71 and call('RPUSH', line, member)
if place and place > 1 then
    return free > 0 and -2 * place - 1 or -2 * place
end
local time, first = call('TIME'), call('ZRANGE', zset, '0', '0', 'WITHSCORES')
local left = (first[2] or 0) - time[1] * 1000 - math.floor(time[2] / 1000)
if not place then
    return free < need and left > 0 and -2 - left or 0
end
call('PEXPIRE', line, '2100000')
return left > 0 and -2 or -3
