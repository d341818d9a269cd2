-- SPDX-License-Identifier: MIT
--
-- What operators see of a name.
--
-- KEYS    N, line, fence, side
-- ARGV    Redisson's fair queue
-- returns N's ms left, its fields and values, the counter, h, how many wait, 64 of their
--         claims, 64 parked claims, the marks of the clients of both (ms, 0: none), the
--         server's ms, Redisson's fair queue
--
-- Nothing changes: the write is there to be refused by a replica. A nonce is not told.
-- The name may be of another kind: what cannot be read is empty.
local call, pcall, lock, line, side = redis.call, redis.pcall, KEYS[1], KEYS[2], KEYS[4]
local refused = pcall('HDEL', lock, '')
if refused ~= 0 and not string.find(refused.err, 'WRONGTYPE') then
    return refused
end
local fields, waits = {}, call('LRANGE', line, '0', '63')
local parked, marks = {}, {}
if refused == 0 then
    fields = call('HRANDFIELD', lock, '64', 'WITHVALUES')
end
for _, field in ipairs(call('HRANDFIELD', side, '256') or {}) do
    if #parked < 64 and #field == 67 then
        parked[#parked + 1] = string.sub(field, 2, 50)
    end
end
for _, list in ipairs({waits, parked}) do
    for i = 1, #list do
        list[i] = string.sub(list[i], 1, 49)
        local mark = call('HGET', side, string.sub(list[i], 1, 32))
        marks[#marks + 1] = tonumber(mark or 0)
    end
end
local time, fair = call('TIME'), pcall('LRANGE', ARGV[1], '0', '63')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fence, hold = call('GET', KEYS[3]) or '', call('HGET', side, 'h') or ''
return {call('PTTL', lock), fields, fence, hold, call('LLEN', line), waits, parked, marks,
    now, fair.err and {} or fair}
