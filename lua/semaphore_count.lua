-- SPDX-License-Identifier: MIT
-- semaphore_count: how many permits there are, and how many of them are free.
-- uses: part_error part_master
-- uses: part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_permit_room part_others
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
--
-- returns  {N, free}  a permit whose lease has ended counts as free
--          {5}  no number is set
--
-- Invariants: nothing is changed.

local refused = replica_refuses()
if refused then
    return refused
end

clock.look()
if not permits.free then
    return {5}
end
return {permits.free + permits.taken, permits.available()}
