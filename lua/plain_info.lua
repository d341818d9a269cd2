-- SPDX-License-Identifier: MIT
-- plain_info: who waits.
-- uses: part_error part_master
-- uses: part_clock part_lease part_counter part_line part_list
-- texts: who holds and waits, in arrays
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
-- returns  {{}, number of waiters,
--           {claim, need, ticket, waited ms, reason, mode, ...}}  the first 64
--
-- Invariants: nothing is changed. Nobody knows who has the permits.

local refused = replica_refuses()
if refused then
    return refused
end

clock.look()
return {{}, list.length(), list.waiters()}
