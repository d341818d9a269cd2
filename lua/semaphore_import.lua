-- SPDX-License-Identifier: MIT
-- semaphore_import: permits that were exported become another client's, under a
-- new fence, with their lease begun anew.
-- uses: part_error part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_permit_room part_void part_revoke
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
-- ARGV[4]  fence    under which the claim was exported
-- ARGV[5]  lease    milliseconds, > 0
-- ARGV[6]  inbox    the importer's; no space in it
-- ARGV[7]  id       of no use here
--
-- returns  {1, lease left in ms, fence, fence}  it is the importer's
--          {0, code}  it does not hold, or another has imported it; codes as in
--              lock_renew
--
-- Invariants: of those who import one fence one is told 1: the next fence is
-- another, and under the old one nothing is renewed or released any more. The
-- importer may ask again, and gets the same fence: in the record its inbox and,
-- in place of the ticket, the fence it came with say that it is the one. A
-- lease is only lengthened. On a mismatch nothing changes. A full server does
-- not refuse it. A hold without a record is nobody's to import.

local fence, ms, inbox = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]

clock.look()
permits.recover()
local own, bad = permits.find(ARGV[1])
if bad then
    return bad
elseif not own or not own.till then
    return {0, 0}
elseif own.fence ~= fence
        and (own.ticket ~= fence or own.inbox ~= inbox) then
    return {0, 3}
elseif revoke.is_void(own.claim) then
    return {0, 4}
end

local left = permit.lengthen(zset, holders, own, ms)
if failed(left) then
    return left
end
lease.keep(state, record.kept, left)
if own.fence ~= fence then
    return {1, left, own.fence, own.fence}
end

-- The lengthening has written: a full server lets through what follows.
-- The state may be gone, and the clock behind it.
own.fence = math.max(record.fence + 1, fence + 1, clock.us)
own.ticket, own.inbox = fence, inbox
bad = beyond(own.fence, 'fences')
    or failed(redis.pcall('HSET', state, 'fence', own.fence))
    or failed(redis.pcall('HSET', holders, unpack(permit.fields(own, own.ids),
        1, 2)))
return bad or {1, left, own.fence, own.fence}
