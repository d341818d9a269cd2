-- SPDX-License-Identifier: MIT
-- semaphore_confirm: the new holder is heard of; its permits get their full
-- lease.
-- uses: part_error part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_permit_room part_others part_void part_revoke
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
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  fence    of the hold
-- ARGV[5]  lease    milliseconds, > 0
-- ARGV[6]  reserve  of no use here
--
-- returns  {1, lease left in ms, waiting, fence}  waiting 1: somebody waits, or
--              it cannot be told
--          {0, code}  it does not hold; codes as in lock_renew
--
-- Invariants: a lease is only lengthened. On a mismatch nothing changes. A
-- full server does not refuse it.

clock.look()
permits.recover()
local own, bad = permits.find(ARGV[1])
if bad then
    return bad
elseif not own or not own.till then
    return {0, 0}
elseif own.fence ~= tonumber(ARGV[4]) then
    return {0, 3}
elseif revoke.is_void(own.claim) then
    return {0, 4}
end

local waits = line.is_there()
if not waits then
    local found, denied = others.are_there()
    waits = found or denied
end
local left = permit.lengthen(zset, holders, own, tonumber(ARGV[5]))
if failed(left) then
    return left
end
lease.keep(state, record.kept, left)
return {1, left, waits and 1 or 0, own.fence}
