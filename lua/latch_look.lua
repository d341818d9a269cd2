-- SPDX-License-Identifier: MIT
-- latch_look: a waiter looks what became of the latch, and says that it lives.
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
--
-- returns  as latch_wait
--
-- Invariants: those of latch_wait. A full server does not refuse it.

local bad = replica_refuses() or change.begin()
if bad then
    return bad
end
if latch.phase ~= 'open' then
    listed.see(ARGV[1], '', '')
end
return facts.answer()
