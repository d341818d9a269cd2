-- SPDX-License-Identifier: MIT
-- rwlock_touch: many waiters of one client say that they are alive, and see to
-- it that those whose turn it is come in.
-- uses: part_error part_rw_record part_clock part_lease part_line
-- uses: part_touch part_rw_readers part_rw_share part_rw_room part_others
-- uses: part_pass
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
-- KEYS[12] none      not used
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4..]  the claims, 500 at the most
--
-- returns  {lease left in ms, next, more, degraded, ticket, ...}  next: which
--              of these claims, counted from 1, is to call rwlock_recheck now,
--              because its turn has come or nobody will hand over to it; 0:
--              none; ticket 0: the claim does not wait
--
-- Invariants: it never queues a claim that does not wait. What rwlock_recheck
-- does for one waiter it does for each, but for the hold: that one asks.

local claims, index = {}, {}
for i = 4, #ARGV do
    claims[i - 3] = ARGV[i]
    index[ARGV[i]] = i - 3
end

clock.look()
line.is_there() -- a queue of the wrong type ends the script here
local given, bad = touch_all(claims)
if bad then
    return bad
end
for i = 1, #claims do
    if given[i] > 0 then
        room.trust(claims[i])
    end
end

local first = room.next()
local turn = index[first or room.contender() or '']
local _, more, denied = nil, 0, nil
if first and not turn then
    _, more, denied = pass.give()
end
return {redis.call('PTTL', lock), turn or 0, more, denied and 1 or 0,
    unpack(given)}
