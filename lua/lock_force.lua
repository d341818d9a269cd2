-- SPDX-License-Identifier: MIT
-- lock_force: end whoever's hold it is, or one owner's alone, tell the holder,
-- and hand over.
-- uses: part_error part_record part_clock part_lease part_fences part_line
-- uses: part_hold part_others part_pass
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
-- ARGV[1]  owner    whose hold it has to be; empty: whoever's
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
--
-- returns  {1, more, degraded}  as lock_release
--          {0}  nobody held it, or that one did not
--
-- Message to the holder's inbox, if it is one of ours:
-- `revoked lock <claim> <fence> <name>`.
--
-- Invariants: as lock_release; an inbox is told only of a claim that is in
-- the lock.

if not record.holder or ARGV[1] ~= '' and not record.mine then
    return {0}
end

local inbox = ''
if record.holder == record.claim then
    inbox = redis.call('HGET', state, 'inbox') or ''
end

local more, degraded = pass.on()
if not more then
    return degraded
end
if inbox ~= '' and failed(redis.pcall('PUBLISH', inbox, 'revoked lock '
        .. record.claim .. ' ' .. record.fence .. ' ' .. lock)) then
    degraded = 1
end
return {1, more, degraded}
