-- SPDX-License-Identifier: MIT
-- lock_touch: many waiters of one client say that they are alive, and see to it
-- that a free lock is given to the next.
-- uses: part_error part_record part_clock part_lease part_fences part_line
-- uses: part_touch part_hold part_others part_pass
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
-- returns  {left, next, more, degraded, ticket, ...}  left: ms of the lease,
--              of the holder's or of that which the next will have, -2: free;
--              next: which of these claims, counted from 1, is to call
--              lock_recheck now, because its turn has come or nobody will hand
--              over to it, 0: none; ticket 0: the claim does not wait
--
-- Invariants: it never queues a claim that does not wait. What lock_recheck
-- does for one waiter it does for each, but for the hold: that one asks.

local claims = {}
for i = 4, #ARGV do
    claims[i - 3] = ARGV[i]
end

clock.look()
line.is_there() -- a queue of the wrong type ends the script here
local given, bad = touch_all(claims)
if bad then
    return bad
end

-- Of these the one that stands first is known to be alive, whatever its inbox
-- says, and a client sees to its own.
local mine
for i = 1, #claims do
    if given[i] > 0 and (not mine or given[i] < given[mine]) then
        mine = i
    end
end

local turn, more, denied, will_have = 0, 0, nil, nil
if record.holder then
    if mine and hold.contends(claims[mine]) ~= 0 then
        turn = mine
    end
else
    local _, next_up, is_left
    _, more, denied, next_up, is_left = pass.give(claims[mine])
    if is_left then
        turn = mine
    elseif next_up then
        turn, will_have = mine, line.find(next_up).lease
    end
end
return {will_have or redis.call('PTTL', lock), turn, more, denied and 1 or 0,
    unpack(given)}
