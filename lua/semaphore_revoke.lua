-- SPDX-License-Identifier: MIT
-- semaphore_revoke: have one holder's hold end: it is not renewed any more, and
-- its client is told. Until it is released, or its lease ends, its permits are
-- taken.
-- uses: part_error part_permit_record part_clock part_lease part_permit_ids
-- uses: part_void part_revoke
--
-- KEYS[1]  counter  string  permits that are free; unset: there is no number
-- KEYS[2]  state    hash    kind, fence of the last grant, and the turn
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  permits  zset    permit -> end of its lease, plus the skew
-- KEYS[7]  void     zset    claim that must not acquire or be renewed -> until
--                           when
-- KEYS[8]  holders  hash    permit of ours -> whose it is; of a claim's first:
--                           what is known of it
-- ARGV[1]  owner    a claim, or a permit in hexadecimal
-- ARGV[2..3]        of no use
--
-- returns  {1, left, told}, {0}  as lock_revoke
--
-- Message to the holder's inbox:
-- `revoked semaphore <claim> <fence> <name>`.
--
-- Invariants: as lock_revoke; a claim is revoked by being void.

clock.look()
local own, id, bad = permit.find(zset, holders, ARGV[1])
if bad then
    return bad
elseif own and own.till and own.till > clock.ms then
    local left = own.till - clock.ms
    bad = revoke.mark(own.claim, left)
    if bad then
        return bad
    end
    revoke.tell('semaphore', own.claim, own.fence, own.inbox)
    return {1, left, 1}
end
local score = id and not own and redis.call('ZSCORE', zset, id)
if score and tonumber(score) > clock.ms then
    return {1, score - clock.ms, 0}
end
return {0}
