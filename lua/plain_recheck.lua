-- SPDX-License-Identifier: MIT
-- plain_recheck: a waiter looks whether its turn has come, takes if it has,
-- and says that it is alive.
-- uses: part_error part_clock part_lease part_counter part_memo
-- uses: part_counter_memo
-- uses: part_line part_others part_counter_taker
--
-- KEYS[1]  counter  string  permits that are free
-- KEYS[2]  state    hash    that it is a bare counter; which waiters are gone
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  memo     hash    who changed the counter -> by how much
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  leases   zset    Redisson's, of a semaphore of leased permits
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  lease    of no use: permits have none
--
-- returns  {1, 0, 0, ticket, 0}  taken, now or before; ticket 0: before
--          {0, left, ticket, contend, more, degraded}  still queued; left and
--              contend as in plain_acquire; more 1: call again; degraded 1: the
--              server denied something
--          {3}  not known: it neither took nor waits
--          {7}  what it waited for is gone; it waits no more
--
-- Invariants: it never queues a claim that does not wait. The caller is alive,
-- whatever its inbox says. A waiter that was skipped comes back with the ticket
-- it had. Nobody alive before it in the queue is passed by.

local owner = ARGV[1]

clock.look()
if made.count then
    return {1, 0, 0, 0, 0}
end
local entry = line.find(owner)
if not entry then
    return {3}
elseif taker.is_gone(entry) then
    return line.leave(owner) or {7}
end
line.is_there() -- a queue of the wrong type ends the script here
local bad = line.touch(owner, entry)
if bad then
    return bad
end
local mine, more, denied = taker.serve(owner)
if mine then
    return taker.take_turn(owner, entry) or {1, 0, 0, entry.ticket, 0}
end
local left, contends = taker.outlook(owner, entry)
return {0, left, entry.ticket, contends, more, denied and 1 or 0}
