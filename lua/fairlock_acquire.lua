-- SPDX-License-Identifier: MIT
-- fairlock_acquire: take the lock if it is free and nobody waits, else queue.
-- uses: part_quick_take part_quick_queue part_error part_record part_clock
-- uses: part_lease part_fences part_line part_hold part_others part_pass
-- uses: part_void part_seek
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
-- ARGV[5]  queue    1: queue if it is held; s: do not, but note that somebody
--                   spins
-- ARGV[6]  inbox    channel on which grants are received; no space in it
-- ARGV[7]  reason   for operators; any bytes
-- ARGV[8]  check_void  1: refuse a claim that was given up
--
-- returns  {1, fence, lease left in ms, top}  it holds; the fences up to top
--              are reserved to it
--          {0, lease left, ticket, contend, more}  it is queued; contend 1
--              or 2: it is next, and nobody will hand over to it, as in
--              lock_recheck; more, if it is there, 1: call lock_recheck at
--              once, the dead are not all passed
--          {2, lease left}  held by another, and not queued
--          error LKVOID  the claim was given up
--
-- Invariants: nobody alive who waits is passed by; else as lock_acquire.

local first = line.first()
if not first or first == owner then
    return take()
end

-- A free name for which others wait goes to the first of them that is alive.
-- This claim queues, and has it if that is itself.
local bad = stand()
if bad then
    return bad
end
local _, more, _, mine, is_left = pass.give(owner)
if mine then
    return take()
elseif ARGV[5] ~= '1' then
    return line.leave(owner) or {2, redis.call('PTTL', lock)}
end
return {0, is_left and others.left() or redis.call('PTTL', lock),
    entry.ticket, is_left and 2 or 0, more}
