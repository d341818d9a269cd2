-- SPDX-License-Identifier: MIT
-- plain_touch: many waiters of one client say that they are alive, and see to
-- it that the next one looks.
-- uses: part_error part_clock part_lease part_counter part_memo
-- uses: part_counter_memo
-- uses: part_line part_touch part_others part_counter_taker
--
-- KEYS[1]  counter  string  permits that are free
-- KEYS[2]  state    hash    that it is a bare counter; which waiters are gone
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  memo     hash    who changed the counter -> by how much
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  leases   zset    Redisson's, of a semaphore of leased permits
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4..]  the claims, 500 at the most
--
-- returns  {left, next, more, degraded, ticket, ...}  next: which of these
--              claims, counted from 1, is to call plain_recheck now, because
--              its turn has come or it must try for itself; 0: none; ticket
--              0: the claim does not wait, or what it waited for is gone; the
--              rest as in plain_recheck
--
-- Invariants: it never queues a claim that does not wait, and takes for nobody.

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
for i = 1, #given do
    if taker.is_gone({ticket = given[i]}) then
        given[i] = 0
    end
end

local first = line.first()
local mine, more, denied = taker.serve(index[first] and first)
local turn = 0
if index[first] and (mine or select(2, taker.outlook(first)) == 1) then
    turn = index[first]
end
return {counter.left(), turn, more, denied and 1 or 0, unpack(given)}
