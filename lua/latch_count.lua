-- SPDX-License-Identifier: MIT
-- latch_count: what is left to count.
-- uses: part_error part_master part_clock part_latch
--
-- KEYS[1]  count    string  what is left to count; Redisson's
-- KEYS[2]  state    hash    the record: phase, generation, time
-- KEYS[3]  waiting  zset    claim that waits -> last seen, in ms
-- KEYS[4]  tickets  hash    claim -> since when, inbox, reason
-- KEYS[5]  members  zset    who arrived in this generation -> when, in us
-- KEYS[6]  memo     zset    operation that ran -> when, in ms
--
-- returns  {1, left}  left in decimal; 0: it is open
--          {5}  it is neither armed nor open
--
-- Invariants: nothing is changed.

local refused = replica_refuses()
if refused then
    return refused
end

if latch.phase == 'unset' then
    return {5}
end
return {1, latch.phase == 'open' and '0' or latch.text}
