-- SPDX-License-Identifier: MIT
-- semaphore_recheck: a waiter looks whether it was granted its permits, says
-- that it is alive, and sees to it that what is free is given to the next.
-- uses: part_error part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_permit_room part_others part_pass part_void part_revoke
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
-- ARGV[4]  lease    milliseconds, > 0
--
-- returns  {1, fence, lease left in ms, ticket, fence}  it holds
--          {0, left, ticket, contend, more, degraded}  still queued; left and
--              contend as in semaphore_acquire; more 1: call again; degraded 1:
--              the server denied something
--          {3}  not known: it neither holds nor waits, or there is no number
--              any more, and it waits no longer
--          {4}  it needs more than N, and waits no longer
--
-- Invariants: it never queues a claim that does not wait. It only lengthens a
-- lease, and not a revoked hold's. The caller is alive, whatever its inbox
-- says. A waiter that was skipped comes back with the ticket it had.

local owner, ms = ARGV[1], tonumber(ARGV[4])

clock.look()
permits.recover()
local own, bad = permits.find(owner)
if bad then
    return bad
elseif own and own.till then
    local left = revoke.is_void(owner) and math.max(own.till - clock.ms, 0)
        or permit.lengthen(zset, holders, own, ms)
    return failed(left) or {1, own.fence, left, own.ticket, own.fence}
end

local entry = line.find(owner)
if not entry then
    return {3}
end
line.is_there() -- a queue of the wrong type ends the script here
if not permits.free then
    return line.leave(owner) or {3}
elseif entry.need > permits.free + permits.taken then
    return line.leave(owner) or {4}
end
bad = line.touch(owner, entry)
if bad then
    return bad
end
permits.tidy()

local _, more, denied, mine = pass.give(owner)
if not mine then
    return {0, permits.left(), entry.ticket, permits.contends(owner), more,
        denied and 1 or 0}
end
local fence
fence, bad = permits.take(owner, entry, ms)
if bad then
    return bad
end
bad = line.remove(owner, entry)
if bad then
    room.undo(owner, entry)
    line.restore(owner, entry)
    return bad
end
pass.give() -- there may be room for more of them
return {1, fence, ms, entry.ticket, fence}
