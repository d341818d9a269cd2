-- SPDX-License-Identifier: MIT
-- latch_leave: a claim waits no more.
-- uses: part_error part_waiting
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
-- ARGV[4]  tombstone_ms  not used: a wait that runs later takes nothing
--
-- returns  {n, 0, 0}  n 1: it was on the list of those who wait; 0: it was not
--
-- Invariants: the latch is as before. A full server does not refuse it.

local n = listed.remove(ARGV[1])
return failed(n) or {n, 0, 0}
