-- SPDX-License-Identifier: MIT
-- lock_import: a hold that was exported becomes another client's, under a new
-- fence, with its lease begun anew.
-- uses: part_error part_record part_clock part_lease part_fences
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
-- ARGV[4]  fence    under which the claim was exported
-- ARGV[5]  lease    milliseconds, > 0
-- ARGV[6]  inbox    the importer's; no space in it
-- ARGV[7]  id       of no use here
--
-- returns  {1, lease left in ms, fence, top}  it is the importer's; the
--              fences up to top are reserved to it
--          {0, code}  it does not hold, or another has imported it; codes as in
--              lock_renew
--
-- Invariants: of those who import one fence one is told 1: the next fence is
-- another, and under the old one nothing is renewed or released any more. The
-- importer may ask again, and gets the same fence: in the record its inbox and,
-- in place of the ticket, the fence it came with say that it is the one. A
-- lease is only lengthened. On a mismatch nothing changes. A full server does
-- not refuse it. A hold without a record is nobody's to import.

local owner, fence, ms, inbox = ARGV[1], ARGV[4], tonumber(ARGV[5]), ARGV[6]

if not record.mine or record.claim ~= owner then
    return {0, record.holder and not record.mine and 2 or 0}
end
local is_done = record.ticket == fence
    and redis.call('HGET', state, 'inbox') == inbox
if record.fence ~= fence and not is_done then
    return {0, 3}
elseif record.revoked == record.fence then
    return {0, 4}
end

clock.look()
local left = lease.lengthen(lock, ms)
if failed(left) then
    return left
end
lease.keep(state, record.kept, ms)
if record.fence ~= fence then
    return {1, left, tonumber(record.fence), record.top}
end

local range, bad = fences.next()
-- Changes nothing; a full server lets through what follows such a write. A
-- counter of Redisson's that is ahead does no harm.
bad = bad or failed(redis.pcall('PEXPIRE', lock, left))
    or fences.tell(range.top, range.count)
    or failed(redis.pcall('HSET', state, 'fence', range.fence, 'top', range.top,
        'ticket', fence, 'inbox', inbox, 'lease', ms))
return bad or {1, left, range.fence, range.top}
