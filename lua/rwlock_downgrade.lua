-- SPDX-License-Identifier: MIT
-- rwlock_downgrade: make a writer a reader in one step, so that no other writer
-- comes between, and serve those who wait to read.
-- uses: part_error part_rw_record part_clock part_lease part_line
-- uses: part_rw_readers part_rw_share part_rw_room part_others part_pass
-- uses: part_rw_end part_void part_revoke
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
-- ARGV[4]  fence    of the hold
-- ARGV[5]  lease    milliseconds, > 0
--
-- returns  {1, lease left in ms, more, degraded}  it reads, under the same
--              fence; more and degraded as in rwlock_release
--          {0, code}  not the writer; codes as in lock_renew
--
-- Invariants: the claim holds at every moment. On a mismatch nothing changes.
-- Sending it again changes nothing. A full server does not refuse it.

local owner, ms = ARGV[1], tonumber(ARGV[5])

if not record.writes and not record.reads then
    return {0, share.code(owner)}
elseif share.is_other(owner, ARGV[4]) then
    return {0, 3}
elseif revoke.is_void(owner) then
    return {0, 4}
end

clock.look()
local more, degraded
if record.writes then
    more, degraded = ending.of_writing(owner, ARGV[4], ms)
else
    more, degraded = ending.of_nothing()
end
if not more then
    return degraded
end
return {1, redis.call('PTTL', timeout_key(owner)), more, degraded}
