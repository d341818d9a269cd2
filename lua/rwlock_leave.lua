-- SPDX-License-Identifier: MIT
-- rwlock_leave: end a claim, whatever became of it: a waiter leaves the queue,
-- a hold ends.
-- uses: part_error part_rw_record part_clock part_lease part_line
-- uses: part_rw_readers part_rw_share part_rw_room part_others part_pass
-- uses: part_rw_end part_void
--
-- KEYS[1]  lock      hash    mode -> read or write; reader -> its holds; or
--                            <writer>:write -> its holds; its TTL is the lease
-- KEYS[2]  state     hash    record of the last writer, the phase, and the turn
-- KEYS[3]  queue     zset    claim that waits to write -> ticket
-- KEYS[4]  tickets   hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped   zset    claim passed over -> since when
-- KEYS[6]  readers   zset    claim that waits to read -> ticket
-- KEYS[7]  void      zset    claim that must not acquire -> until when
-- KEYS[8]  holders   hash    claim that reads -> record of its grant
-- KEYS[9]  spin      string  there while a client spins
-- KEYS[10] upgraders zset    claim that waits to read, to write later
-- KEYS[11] upgrades  zset    claim that waits to write, and reads already
-- KEYS[12] timeout   string  lives as long as the claim's lease as a reader
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  tombstone_ms  > 0: for so long rwlock_acquire refuses the claim
--
-- returns  {n, more, degraded}  n 0: it neither held nor waited, 1: it waited,
--              2: it held; more and degraded as in rwlock_release
--
-- Invariants: afterwards the claim neither holds nor waits. A full server
-- does not refuse it. Those whom it kept out come in.

local owner, stone_ms = ARGV[1], tonumber(ARGV[4])

clock.look()
local answer = line.find(owner) and 1 or 0
line.is_there() -- a queue of the wrong type ends the script here
local how = record.writes and 'write' or record.reads and 'read'

local bad = line.leave(owner)
if not bad and stone_ms > 0 then
    bad = void.bury(owner, stone_ms)
end
local more, degraded = 0, 0
if how then
    answer = 2
    more, degraded = ending.of(how, owner)
elseif not bad then
    more, degraded = ending.of_nothing()
end
if not more then
    return degraded
end
return bad or {answer, more, degraded}
