-- SPDX-License-Identifier: MIT
-- lock_confirm: the new owner is heard of; its hold gets its full lease, and
-- more fences if it wants them.
-- uses: part_error part_record part_clock part_lease part_fences part_others
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
-- ARGV[4]  fence    of the hold
-- ARGV[5]  lease    milliseconds, > 0
-- ARGV[6]  reserve  so many more fences are wanted, >= 0
--
-- returns  {1, lease left in ms, waiting, top}  waiting 1: somebody waits, or
--              it cannot be told; top: the highest fence reserved to it
--          {0, code}  not the holder; codes as in lock_renew
--
-- Invariants: a TTL is only lengthened. On a mismatch nothing changes. A full
-- server does not refuse it. Fences that cannot be had are no failure. Nothing
-- is reserved to a hold that has no record: its top is its fence.

local ms = tonumber(ARGV[5])

if not record.mine then
    return {0, record.holder and 2 or 0}
elseif record.claim == ARGV[1] and record.fence ~= ARGV[4] then
    return {0, 3}
elseif record.claim == ARGV[1] and record.revoked == ARGV[4] then
    return {0, 4}
end

local waits = redis.call('ZCARD', KEYS[3]) > 0
if not waits then
    local found, denied = others.are_there()
    waits = found or denied
end

clock.look()
local left = lease.lengthen(lock, ms)
if failed(left) then
    return left
end
lease.keep(state, record.kept, ms)
local top = tonumber(ARGV[4])
if record.claim == ARGV[1] then
    top = fences.reserve(tonumber(ARGV[6]), left)
end
return {1, left, waits and 1 or 0, top}
