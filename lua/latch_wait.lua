-- SPDX-License-Identifier: MIT
-- latch_wait: begin to wait for a latch.
-- uses: part_error part_master
-- uses: part_clock part_latch part_latch_change part_waiting
-- uses: part_latch_facts
--
-- KEYS[1]  count    string  what is left to count; Redisson's
-- KEYS[2]  state    hash    the record: phase, generation, time
-- KEYS[3]  waiting  zset    claim that waits -> last seen, in ms
-- KEYS[4]  tickets  hash    claim -> since when, inbox, reason
-- KEYS[5]  members  zset    who arrived in this generation -> when, in us
-- KEYS[6]  memo     zset    operation that ran -> when, in ms
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  not used
-- ARGV[4]  lease    not used
-- ARGV[5]  queue    1: it will wait
-- ARGV[6]  inbox    of its client; no space in it
-- ARGV[7]  reason   for operators; any bytes
--
-- returns  {1, gen, 0, 0, opened, gone}  it is open
--          {0, look ms, gen, 0, 0, 0, opened, gone}  it is not: armed, gen is
--              even; unset, gen is odd. A look makes sense after look ms, -1:
--              nothing is known to happen
--          {2, look ms}  it is not, and the caller does not wait
--
-- Invariants: a wait takes nothing: sent twice or late it changes nothing for
-- anybody. It opens nothing; what others opened is written down and told.

local bad = change.begin()
if bad then
    return bad
elseif latch.phase ~= 'open' and ARGV[5] ~= '1' then
    return {2, facts.look()}
elseif latch.phase ~= 'open' then
    listed.see(ARGV[1], ARGV[6], ARGV[7])
end
return latch.phase == 'open' and replica_refuses() or facts.answer()
