-- SPDX-License-Identifier: MIT
-- latch_info: who has arrived at a latch and who waits for it.
-- uses: part_error part_master part_clock part_latch part_waiting
-- texts: who holds and waits, in arrays
--
-- KEYS[1]  count    string  what is left to count; Redisson's
-- KEYS[2]  state    hash    the record: phase, generation, time
-- KEYS[3]  waiting  zset    claim that waits -> last seen, in ms
-- KEYS[4]  tickets  hash    claim -> since when, inbox, reason
-- KEYS[5]  members  zset    who arrived in this generation -> when, in us
-- KEYS[6]  memo     zset    operation that ran -> when, in ms
--
-- returns  {{member, count 1, fence 0, ms since it arrived, lease left -1,
--            reason '', mode '', ...},  the first 64 that arrived
--           number of waiters,
--           {claim, need 1, ticket 0, waited ms, reason, mode '', ...}}  64 of
--              them
--
-- Invariants: nothing is changed.

local refused = replica_refuses()
if refused then
    return refused
end

local arrived = {}
if latch.phase ~= 'unset' then
    local rows = redis.call('ZRANGEBYSCORE', members,
        string.format('%.0f', latch.gen), '+inf', 'WITHSCORES',
        'LIMIT', 0, 64)
    for i = 1, #rows, 2 do
        local ms = math.floor((clock.us - tonumber(rows[i + 1])) / 1000)
        for _, value in ipairs({rows[i], 1, 0, math.max(ms, 0), -1, '', ''}) do
            arrived[#arrived + 1] = value
        end
    end
end
local number, waiters = listed.all()
return {arrived, number, waiters}
