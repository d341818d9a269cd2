-- SPDX-License-Identifier: MIT
-- rwlock_recheck: a waiter looks whether it came in meanwhile, says that it is
-- alive, and sees to it that those whose turn it is come in.
-- uses: part_error part_rw_record part_clock part_lease part_line
-- uses: part_rw_readers part_rw_share part_rw_room part_others part_pass
-- uses: part_void part_revoke
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
-- ARGV[4]  lease    milliseconds, > 0
--
-- returns  {1, fence, lease left in ms, ticket, top}  it holds; top is the
--              fence
--          {0, lease left, ticket, contend, more, degraded}  still queued;
--              contend 1: it is next, and a holder will not hand over; 2: it is
--              next, and the name is left to others for another lease left ms;
--              more 1: call again; degraded 1: the server denied something
--          {3}  not known: it neither holds nor waits
--          {9}  its base is revoked, or lost: others may have written; it waits
--               no more
--
-- Invariants: it never queues a claim that does not wait. It only lengthens
-- a lease, and not a revoked hold's. The caller is alive, whatever its inbox
-- says. A waiter that was skipped comes back with the ticket it had.

local owner, ms = ARGV[1], tonumber(ARGV[4])

clock.look()
if record.writes or record.reads then
    local fence, ticket, bad = share.own(owner, {ticket = 0, kind = 'r',
        lease = ms, inbox = '', reason = ''})
    if bad then
        return bad
    end
    local left = revoke.is_void(owner)
        and redis.call('PTTL', share.lease_key(owner))
        or share.lengthen(owner, ms)
    return failed(left) or {1, fence, left, ticket, fence}
end

local entry = line.find(owner)
if not entry then
    return {3}
end
line.is_there() -- a queue of the wrong type ends the script here
local left = redis.call('PTTL', lock)
if entry.kind == 'x' and not room.has_base(entry) then
    return line.leave(owner) or {9}
end
local bad = line.touch(owner, entry)
if bad then
    return bad
elseif share.mode == 'write' then
    return {0, left, entry.ticket, room.contends(owner), 0, 0}
end

room.trust(owner)
local _, more, denied, mine, is_left = pass.give(owner)
if not mine then
    return {0, is_left and others.left() or redis.call('PTTL', lock),
        entry.ticket, room.contends(owner), more, denied and 1 or 0}
end
local range
range, bad = room.take(owner, entry, ms)
if bad then
    return bad
end
bad = line.remove(owner, entry)
if bad then
    room.undo(owner, entry)
    line.restore(owner, entry)
    return bad
end
return {1, range.fence, ms, entry.ticket, range.top}
