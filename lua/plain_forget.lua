-- SPDX-License-Identifier: MIT
-- plain_forget: remove what is kept of a plain semaphore that is not set.
-- uses: part_error part_master part_clock part_lease part_counter part_forget
-- texts: who holds it
--
-- KEYS[1]  counter  string  permits that are free
-- KEYS[2]  state    hash    that it is a bare counter; which waiters are gone
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  memo     hash    who changed the counter -> by how much; stays
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  leases   zset    Redisson's, of a semaphore of leased permits
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  not used
--
-- returns  see part_forget; and {4, free}: it is set, so many are free, and
--          nobody knows who has the others; nothing was changed
--
-- Invariants: those of lock_forget. The memo stays for its eleven minutes, in
-- which a change may be sent again: it must not be made again.

local refused = replica_refuses()
if refused then
    return refused
end

clock.look()
local waiters = forget.size('zset', KEYS[3], KEYS[5])
    + forget.listeners(ARGV[2])
forget.size('hash', KEYS[4])
if waiters > 0 then
    return {3, waiters}
elseif counter.value then
    return {4, counter.value}
elseif record.kind ~= 'plain' then
    return {0}
end
return forget.all(KEYS[7], KEYS[3], KEYS[4], KEYS[5])
