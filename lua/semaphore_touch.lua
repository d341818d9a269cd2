-- SPDX-License-Identifier: MIT
-- semaphore_touch: many waiters of one client say that they are alive, and see
-- to it that what is free is given to the next.
-- uses: part_error part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_touch part_permit_room part_others part_pass
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
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4..]  the claims, 500 at the most
--
-- returns  {left, next, more, degraded, ticket, ...}  left as in
--              semaphore_acquire; next: which of these claims, counted from 1,
--              is to call semaphore_recheck now, because its turn has come or
--              nobody will hand over to it; 0: none; ticket 0: the claim does
--              not wait, or in vain, and is to call semaphore_recheck as well
--
-- Invariants: it never queues a claim that does not wait. What
-- semaphore_recheck does for one waiter it does for each, but for the hold:
-- that one asks.

local claims, index = {}, {}
for i = 4, #ARGV do
    claims[i - 3] = ARGV[i]
    index[ARGV[i]] = i - 3
end

clock.look()
permits.recover()
line.is_there() -- a queue of the wrong type ends the script here
local given, bad = touch_all(claims)
if bad then
    return bad
end
permits.tidy()

local more, denied, turn = 0, nil, 0
local first, _, fits = room.next()
if first and not index[first] then
    _, more, denied = pass.give()
elseif first and fits then
    turn = index[first]
else
    first = line.first()
    turn = index[first] and permits.contends(first) * index[first] or 0
end
for i = 1, #claims do
    if not permits.free or permits.short[claims[i]] then
        given[i] = 0
    end
end
return {permits.left(), turn, more, denied and 1 or 0, unpack(given)}
