-- Takes permits that are free, waits in the line for them, or tells a try that there are
-- none.
--
-- KEYS    N, line, memo, side
-- ARGV    claim, member (a try: its need alone, 4 digits), number of a change that is
--         settled or ''
-- returns g > 0: it has them; g is the counter's generation, for the way back
--         waits: -2n in place n, -2n - 1 if permits are free: tell
--         try:   0 there are none, -1 free, but for a line: tell
--         nil    there is no such semaphore
--
-- What lowers is noted behind it: a cut loses permits, as does a client that dies, and
-- nobody has them twice. The first write is one that a full server refuses.
local call, line, memo, claim = redis.call, KEYS[2], KEYS[3], ARGV[1]
local free, need = tonumber(call('GET', KEYS[1])), tonumber(string.sub(ARGV[2], -4))
if not free then
    return nil
end
if free >= need and call('EXISTS', line) == 0 then
    local time, gen = call('TIME'), call('HGET', KEYS[4], 'gen')
    local now = time[1] .. string.sub('00000' .. time[2], -6, -4)
    call('DECRBY', KEYS[1], need)
    call('HSET', memo, claim, now .. ' ' .. (gen or now))
    call('PEXPIRE', memo, '660000')
    call('HDEL', memo, ARGV[3])
    if not gen then
        call('HSET', KEYS[4], 'gen', now)
    end
    return tonumber(gen or now)
elseif #ARGV[2] ~= 71 then
    return free >= need and -1 or 0
end
local place = call('RPUSH', line, ARGV[2])
call('PEXPIRE', line, '2100000')
return free > 0 and place > 1 and -2 * place - 1 or -2 * place
