-- SPDX-License-Identifier: MIT
-- semaphore_resize: make N another number, and hand on what became free.
-- uses: part_error part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_permit_room part_others part_pass
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
-- ARGV[4]  permits  N, >= 0
--
-- returns  {1, more, degraded}  as semaphore_release
--
-- Invariants: nobody loses what he has: fewer than none may be free then. A
-- full server refuses it before anything is written.

clock.look()
permits.recover()
line.is_there() -- a queue of the wrong type ends the script here
local number = tonumber(ARGV[4])
if permits.free and permits.free + permits.taken == number then
    return {1, 0, 0}
end
local bad = permits.set(number)
if bad then
    return bad
end
local more, degraded = pass.on()
if not more then
    return degraded
end
return {1, more, degraded}
