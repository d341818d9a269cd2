-- SPDX-License-Identifier: MIT
-- lock_recheck: a waiter looks whether it was granted the lock meanwhile, says
-- that it is alive, and sees to it that a free lock is given to the next.
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
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  lease    milliseconds, > 0
--
-- returns  {1, fence, lease left in ms, ticket, top}  it holds; the fences up
--              to top are reserved to it
--          {0, lease left, ticket, contend, more, degraded}  still queued;
--              contend 1: it is next, and the holder will not hand over; 2: it
--              is next, and the name is left to others for another lease left
--              ms; more 1: call again; degraded 1: the server denied something
--          {3}  not known: it neither holds nor waits
--
-- Invariants: it never queues a claim that does not wait. It only lengthens
-- a TTL, and not a revoked hold's. The caller is alive, whatever its inbox
-- says. A waiter that was skipped comes back with the ticket it had.

local owner, ms = ARGV[1], tonumber(ARGV[4])

clock.look()
if record.mine then
    local range, bad = {fence = tonumber(record.fence), top = record.top}, nil
    local ticket = tonumber(record.ticket)
    if record.claim ~= owner then
        ticket = 0
        range, bad = hold.sign(owner,
            {ticket = 0, lease = ms, inbox = '', reason = ''})
    end
    if bad then
        return bad
    end
    local left = record.claim == owner and record.revoked == record.fence
        and redis.call('PTTL', lock) or lease.lengthen(lock, ms)
    return failed(left) or {1, range.fence, left, ticket, range.top}
end

line.is_there() -- a queue of the wrong type ends the script here
local entry = line.find(owner)
if not entry then
    return {3}
end
local left = redis.call('PTTL', lock)
local bad = line.touch(owner, entry)
if bad then
    return bad
end
if record.holder then
    return {0, left, entry.ticket, hold.contends(owner), 0, 0}
end

local _, more, denied, mine, is_left = pass.give(owner)
if not mine then
    return {0, is_left and others.left() or redis.call('PTTL', lock),
        entry.ticket, is_left and 2 or 0, more, denied and 1 or 0}
end
local range
range, bad = room.take(owner, entry, ms)
if bad then
    return bad
end
bad = line.remove(owner)
if bad then
    room.undo(owner)
    line.restore(owner, entry)
    return bad
end
return {1, range.fence, ms, entry.ticket, range.top}
