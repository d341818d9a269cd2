-- Opens a latch whose count is at 0: others counted it down, or a barrier's members are
-- here, or a down was cut. Sent by whoever saw that.
--
-- KEYS    N, side, arrived
-- ARGV    ms that the side lives from now on, Redisson's channel, news, what stands
--         before the generation in the news
-- returns 1 it is open, 0 it is not
--
-- Count before side: cut anywhere it is open for everybody, and the next who sees that
-- it is not noted sends this again.
local call = redis.call
call('HDEL', KEYS[2], '')
local known, left = call('HMGET', KEYS[2], 'phase', 'gen', 'nonce'), call('GET', KEYS[1])
local gen, armed = tonumber(known[2]) or 0, known[1] == 'a'
if left and tonumber(left) > 0 then
    return 0
elseif not left and not (armed and call('ZSCORE', KEYS[3], 'w' .. gen)) then
    return known[1] == 'o' and 1 or 0
end
gen = string.format('%d', armed and gen or gen + 1)
call('DEL', KEYS[1])
call('HSET', KEYS[2], 'phase', 'o', 'gen', gen, 'opened', gen)
call('PEXPIRE', KEYS[2], ARGV[1])
call('DEL', KEYS[3])
redis.pcall('PUBLISH', ARGV[2], '0')
local text = ARGV[4] .. gen .. ' ' .. (known[3] or '-') .. ' ' .. KEYS[1]
redis.pcall('PUBLISH', ARGV[3], text)
return 1
