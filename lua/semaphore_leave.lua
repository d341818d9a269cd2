-- SPDX-License-Identifier: MIT
-- semaphore_leave: end a claim, whatever became of it: a waiter leaves the
-- queue, a holder gives back what it has.
-- uses: part_error part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_permit_room part_others part_pass part_void
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
-- ARGV[4]  tombstone_ms  > 0: for so long semaphore_acquire refuses the claim
--
-- returns  {n, more, degraded}  n 0: it neither held nor waited, 1: it waited,
--              2: it held; more and degraded as in semaphore_release
--
-- Invariants: afterwards the claim neither holds nor waits. A full server does
-- not refuse it. If there is room for the next waiter, he has it.

local owner, stone_ms = ARGV[1], tonumber(ARGV[4])

clock.look()
permits.recover()
local own, bad = permits.find(owner)
if bad then
    return bad
end
local answer = own and 2 or line.find(owner) and 1 or 0
local first = line.first()

bad = line.leave(owner)
if not bad and stone_ms > 0 then
    bad = void.bury(owner, stone_ms)
end
if not own and (bad or first ~= owner or not room.next()) then
    return bad or {answer, 0, 0}
end

permits.give_up(own and own.ids or {})

local more, degraded = pass.on()
if not more then
    return degraded
end
return bad or {answer, more, degraded}
