-- SPDX-License-Identifier: MIT
-- semaphore_release: give permits back, and hand them to the next waiters.
-- uses: part_permit_quick_free
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
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  fence    of the hold that is released
--
-- returns  {1, more, degraded}  released; more 1: call semaphore_pass;
--              degraded 1: the server denied something, waiters must look for
--              themselves
--          {0, code}  it does not hold; 0: it holds nothing, or not all that it
--              had, and the rest is given back; 3: the same claim under another
--              fence
--
-- Invariants: on a mismatch nothing changes. A full server does not refuse it.
-- Each permit is given back once. Waiters are served in order, as long as the
-- next one fits.

clock.look()
permits.recover()
local own, bad = permits.find(ARGV[1])
if bad then
    return bad
elseif not own or own.fence ~= tonumber(ARGV[4]) then
    return {0, own and 3 or 0}
end

permits.give_up(own.ids)

local more, degraded = pass.on()
if not more then
    return degraded
end
return own.till and {1, more, degraded} or {0, 0}
