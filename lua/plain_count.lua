-- SPDX-License-Identifier: MIT
-- plain_count: how many permits are free.
-- uses: part_error part_master part_clock part_lease part_counter
--
-- KEYS[1]  counter  string  permits that are free
-- KEYS[2]  state    hash    that it is a bare counter; which waiters are gone
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  memo     hash    who changed the counter -> by how much
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  leases   zset    Redisson's, of a semaphore of leased permits
--
-- returns  {1, 0, 0, free}  below 0: so many are owed
--          {5}  nothing is set
--
-- Invariants: nothing is changed.

local refused = replica_refuses()
if refused then
    return refused
end

if not counter.value then
    return {5}
end
return {1, 0, 0, counter.value}
