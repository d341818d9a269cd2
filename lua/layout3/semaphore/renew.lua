-- Lengthens leases of many holds, of one slot.
--
-- KEYS    Z of each hold
-- ARGV    lease and the skew, of each hold its need as 4 digits and its claim
-- returns the places of those that are over, counted from 1; none: an empty list
--
-- First a write that a replica refuses and a full server does not: an error is no loss. A
-- text that stands where a Z was is a loss of that hold alone.
local call, lost, time = redis.call, {}, redis.call('TIME')
local till = string.format('%d', time[1] * 1000 + time[2] / 1000 + ARGV[1])
for i, zset in ipairs(KEYS) do
    local claim = string.sub(ARGV[i + 1], 5)
    local set = {till, claim}
    for j = 2, string.sub(ARGV[i + 1], 1, 4) do
        set[j * 2 - 1], set[j * 2] = till, claim .. ':' .. j
    end
    local was = redis.pcall('ZREM', zset, '')
    local ends = type(was) == 'number' and call('ZSCORE', zset, claim)
    if type(was) == 'table' and not string.find(was.err, 'WRONGTYPE', 1, true) then
        return was
    elseif not ends or tonumber(ends) <= 2 then
        lost[#lost + 1] = i
    else
        call('ZADD', zset, 'XX', 'GT', unpack(set))
    end
end
return lost
