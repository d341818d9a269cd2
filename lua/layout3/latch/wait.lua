-- Says what a latch is, and that a client waits for it. A wait sends it each second.
--
-- KEYS    N (the count), side, arrived
-- ARGV    client, empty: it only asks; nonce, of a generation that Redisson armed; ms
--         that the side lives where the latch is unset
-- returns what: 0 unset, 1 armed, 2 open, 3 at 0: open; generation, count, nonce, the
--         last generations that opened and that were deleted
--
-- The count is the truth. Above 0 it is armed, by Redisson if the side says otherwise; 0
-- or less is open for everybody. Where it is gone the side says what was; an armed one is
-- open if its witness `w<generation>` stands in arrived: others counted it down. Witness
-- and count end together. First a write that a replica refuses, a full server does not.
local call, count, side, arrived = redis.call, KEYS[1], KEYS[2], KEYS[3]
call('HDEL', side, '')
local known = call('HMGET', side, 'phase', 'gen', 'nonce', 'opened', 'gone')
local left, gen, nonce = call('GET', count), tonumber(known[2]) or 0, known[3] or '-'
left = tonumber(left)
local what = left and (left > 0 and 1 or 3) or known[1] == 'o' and 2 or 0
if not left and known[1] == 'a' and call('ZSCORE', arrived, 'w' .. gen) then
    what = 3
elseif what == 1 and known[1] ~= 'a' then
    gen, nonce = gen + 1, ARGV[2]
    call('ZADD', arrived, gen, 'w' .. gen)
    call('HSET', side, 'phase', 'a', 'gen', gen, 'nonce', nonce, 'size', left, 'ttl', '0',
         'op', 'r')
    call('PERSIST', side)
end
if ARGV[1] ~= '' then
    local time = call('TIME')
    call('HSET', side, ARGV[1], time[1] .. string.sub('00000' .. time[2], -6, -4))
    if what == 0 then
        call('PEXPIRE', side, ARGV[3])
    end
end
return {what, gen, left or 0, nonce, tonumber(known[4]) or 0, tonumber(known[5]) or 0}
