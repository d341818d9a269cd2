-- SPDX-License-Identifier: MIT
-- plain_pass: go on telling waiters that their turn has come, after an answer
-- of more.
-- uses: part_error part_clock part_lease part_counter part_memo
-- uses: part_counter_memo
-- uses: part_line part_counter_taker
--
-- KEYS[1]  counter  string  permits that are free
-- KEYS[2]  state    hash    that it is a bare counter; which waiters are gone
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  memo     hash    who changed the counter -> by how much
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  leases   zset    Redisson's, of a semaphore of leased permits
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
--
-- returns  {more, degraded}  as plain_leave
--
-- Invariants: it takes for nobody.

clock.look()
line.is_there() -- a queue of the wrong type ends the script here
local _, more, denied = taker.serve()
return {more, denied and 1 or 0}
