-- SPDX-License-Identifier: MIT
-- rwlock_release: end a hold, and serve those who wait for that.
-- uses: part_rw_quick_free part_error part_rw_record part_clock part_lease
-- uses: part_line
-- uses: part_rw_readers part_rw_share part_rw_room part_others part_pass
-- uses: part_rw_end
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
-- ARGV[4]  fence    of the hold that is released
--
-- returns  {1, more, degraded}  released; more 1: call rwlock_pass; degraded 1:
--              the server denied something, waiters must look for themselves
--          {0, code}  not a holder; 0: nobody is instead of it, 2: another is,
--              3: the same claim under another fence
--
-- Invariants: on a mismatch nothing changes. A full server does not refuse
-- it. Other holds stand. At most 64 waiters are looked at.

local owner = ARGV[1]

if not record.writes and not record.reads then
    return {0, share.code(owner)}
elseif share.is_other(owner, ARGV[4]) then
    return {0, 3}
end

clock.look()
local more, degraded = ending.of(record.writes and 'write' or 'read', owner)
if not more then
    return degraded
end
return {1, more, degraded}
