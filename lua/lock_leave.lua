-- SPDX-License-Identifier: MIT
-- lock_leave: end a claim, whatever became of it: a waiter leaves the queue, a
-- holder hands over.
-- uses: part_error part_record part_clock part_lease part_fences part_line
-- uses: part_hold part_others part_pass part_void
--
-- KEYS[1]  lock     hash    owner -> 1; its TTL is the lease
-- KEYS[2]  state    hash    record of the last grant, and the turn
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  token    string  Redisson's count of grants
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  fairq    list    Redisson's fair queue
-- KEYS[9]  spin     string  there while a client spins
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  tombstone_ms  > 0: for so long lock_acquire refuses the claim
--
-- returns  {n, more, degraded}  n 0: it neither held nor waited, 1: it waited,
--              2: it held; more and degraded as in lock_release
--
-- Invariants: afterwards the claim neither holds nor waits. A full server
-- does not refuse it. If the lock is free and others wait, the next has it.

local owner, stone_ms = ARGV[1], tonumber(ARGV[4])

clock.look()
local answer = line.find(owner) and 1 or 0
line.is_there() -- a queue of the wrong type ends the script here
if record.mine then
    answer = 2
end

local bad = line.leave(owner)
if not bad and stone_ms > 0 then
    bad = void.bury(owner, stone_ms)
end
if answer ~= 2 and (bad or record.holder or not line.first()) then
    return bad or {answer, 0, 0}
end
local more, degraded = pass.on()
if not more then
    return degraded
end
return bad or {answer, more, degraded}
