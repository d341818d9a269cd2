-- SPDX-License-Identifier: MIT
-- latch_set: arm a latch that is unset.
-- uses: part_error part_clock part_latch part_latch_change part_op
--
-- KEYS[1]  count    string  what is left to count; Redisson's
-- KEYS[2]  state    hash    the record: phase, generation, time
-- KEYS[3]  waiting  zset    claim that waits -> last seen, in ms
-- KEYS[4]  tickets  hash    claim -> since when, inbox, reason
-- KEYS[5]  members  zset    who arrived in this generation -> when, in us
-- KEYS[6]  memo     zset    operation that ran -> when, in ms
-- ARGV[1]  owner    the operation
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  not used
-- ARGV[4]  count    1 or more
-- ARGV[5]  ttl      in ms; 0: for ever
--
-- returns  {1, degraded}  it is armed; degraded 1: the server denied to tell
--              Redisson
--          {0}  it was armed or open
--
-- Invariants: sent again it answers what it answered before. A full server
-- refuses it before anything is written.

if op.ran() then
    return {1, 0}
elseif latch.phase ~= 'unset' then
    return {0}
end

local bad = change.begin()
if bad then
    return bad
end
bad = op.note() or change.arm(tonumber(ARGV[4]), tonumber(ARGV[5]))
if bad then
    op.forget()
    change.undo()
    return bad
end
return {1, change.tell()}
