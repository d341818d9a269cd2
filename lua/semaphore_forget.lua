-- SPDX-License-Identifier: MIT
-- semaphore_forget: remove what is kept of a semaphore that nobody uses, its
-- number of permits as well.
-- uses: part_error part_master part_permit_record part_clock part_permit_ids
-- uses: part_forget
-- texts: who holds it
--
-- KEYS[1]  counter  string  permits that are free; unset: there is no number
-- KEYS[2]  state    hash    kind, fence of the last grant, and the turn
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  permits  zset    permit -> end of its lease, plus the skew
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  holders  hash    permit of ours -> whose it is; of a claim's first:
--                           what is known of it
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  not used
--
-- returns  see part_forget; the owner of a permit of Redisson's is the permit,
--          in hexadecimal
--
-- Invariants: those of lock_forget. A permit counts as taken until ten seconds
-- after its lease: Redisson's hosts go by clocks of their own. One of ours that
-- is missing, because somebody deleted the permits, counts as well. What no
-- client of ours has used, or another kind uses, stays.

local refused = replica_refuses()
if refused then
    return refused
end

local SKEW_MS = 10000

clock.look()
local waiters = forget.size('zset', KEYS[3], KEYS[5])
    + forget.listeners(ARGV[2])
local known = forget.size('hash', holders)
forget.size('hash', KEYS[4])

local last = redis.call('ZREVRANGE', zset, 0, 0, 'WITHSCORES')
local left = tonumber(last[2]) and tonumber(last[2]) - clock.ms
if left and left > -SKEW_MS then
    return {2, permit.owner(redis.call('HGET', holders, last[1]))
        or permit.hex_of(last[1]), left < 1e13 and math.max(left, 0) or -1}
elseif known > 0 and (record.free or 0) + record.taken < (record.all or 0) then
    local packed = redis.call('HVALS', holders)[1]
    return {2, permit.owner(packed) or '', redis.call('PTTL', holders)}
elseif waiters > 0 then
    return {3, waiters}
elseif record.kind ~= 'leased' then
    return {0}
end
return forget.all(KEYS[7], lock, zset, KEYS[3], KEYS[4], KEYS[5], holders)
