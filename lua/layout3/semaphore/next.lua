-- Frees what nobody else does: leases that are over, and permits that a cut lost. They
-- lie in the counter then; close without permits gives them.
--
-- KEYS    N, Z, line, fence, side
-- ARGV    Redisson's channel, skew
-- returns 0 nothing can be given, 1 it can: close without permits, 2 the first is silent,
--         or needs more than there are: park, then close, -ms it is the outsiders' turn
--         for so long
--
-- Takes stand before gives: a cut leaves less than N. What `n` of the side says is put
-- right, up and down, unless it is 0: Java rules it. A permit of Java's goes a skew late,
-- one of ours a skew before its score: its client does not believe in that time.
local call, zset, line, side = redis.call, KEYS[2], KEYS[3], KEYS[5]
call('PEXPIRE', line, '2100000')
local old, time = call('GET', KEYS[4]) or '0', call('TIME')
local us, free = time[1] * 1000000 + time[2], tonumber(call('GET', KEYS[1]))
local now, size = math.floor(us / 1000), call('ZCARD', zset)
if string.find(old, '%D') then
    return redis.error_reply('LKLAYOUT the name is of another layout')
elseif not free and size == 0 then
    return 0
end
us = string.format('%d', math.max(us, tonumber(old)))
call('SET', KEYS[4], us, 'PX', '4500000')
local known = call('HMGET', side, 'n', 'open', 'vain')
local n, sum = tonumber(known[1]), (free or 0) + size
if n and n ~= 0 and n ~= sum then
    free, sum = call('INCRBY', KEYS[1], string.format('%d', n - sum)), n
elseif free and not n then
    n = ARGV[2] == '0' and sum or 0
    call('HSET', side, 'n', string.format('%d', n))
    call('PEXPIRE', side, '4500000')
end
local till, gone = string.format('%d', now + ARGV[2]), {}
local over = call('ZRANGE', zset, '-inf', till, 'BYSCORE', 'LIMIT', '0', '256',
                  'WITHSCORES')
for i = 1, #over, 2 do
    if string.byte(over[i], 33) == 58 or over[i + 1] + ARGV[2] <= now then
        gone[#gone + 1] = over[i]
    end
end
local freed = #gone > 0 and call('ZREM', zset, unpack(gone))
if not free and not n then
    return 0 -- nobody knows how many there were
end
free = freed and call('INCRBY', KEYS[1], freed) or free or 0
local head = call('LRANGE', line, '0', '1')
if head[1] == 'others' and known[2] then
    local left = 150 - now + known[2]
    if free > 0 and left > 0 and left <= 150 then
        return -left
    end
    call('HDEL', side, 'open', 'vain', 'rest')
    if free > 0 then -- nobody came
        local vain = math.min(5, (known[3] or 0) + 1)
        local rest = string.format('%d', now + 500 * 2 ^ vain)
        call('HSET', side, 'vain', vain, 'rest', rest)
        call('PEXPIRE', side, '4500000')
        call('LPOP', line)
        table.remove(head, 1)
    end
end
local first = head[1] == 'others' and head[2] or head[1]
if not first then
    if freed then
        redis.pcall('PUBLISH', ARGV[1], free)
    end
    return head[1] and free > 0 and 1 or 0
end
local need = tonumber(string.sub(first, 68)) or 0
local mark = call('HGET', side, string.sub(first, 1, 32))
if need > 1 and need > sum or free > 0 and math.abs(now - (mark or 0)) > 2000 then
    return 2
end
return free > 0 and free >= need and 1 or 0
