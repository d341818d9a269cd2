-- SPDX-License-Identifier: MIT
-- lock_touch: many waiters of one client say that they are alive, and see to it
-- that a free lock is given to the next.
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
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4..]  the claims, 500 at the most
--
-- returns  {lease left in ms, next, more, degraded, ticket, ...}  next: which
--              of these claims, counted from 1, is to call lock_recheck now,
--              because its turn has come or nobody will hand over to it; 0:
--              none; ticket 0: the claim does not wait
--
-- Invariants: it never queues a claim that does not wait. What lock_recheck
-- does for one waiter it does for each, but for the hold: that one asks.

local claims, index = {}, {}
for i = 4, #ARGV do
    claims[i - 3] = ARGV[i]
    index[ARGV[i]] = i - 3
end

clock.look()
line.is_there() -- a queue of the wrong type ends the script here
local given, bad = line.touch_all(claims)
if bad then
    return bad
end

local first = line.first()
local _, more, denied, turn = nil, 0, nil, 0
if index[first] then
    local contends = record.holder and hold.contends(first) == 1
    turn = (not record.holder or contends) and index[first] or 0
elseif first and not record.holder then
    _, more, denied = pass.give()
end
return {redis.call('PTTL', lock), turn, more, denied and 1 or 0, unpack(given)}
