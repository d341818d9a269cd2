-- SPDX-License-Identifier: MIT
-- latch_arrive: a member is here; the latch opens when all expected ones are.
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
-- ARGV[4]  expected  how many there are, 1 or more
-- ARGV[5]  ttl      in ms; 0: as it was set
-- ARGV[6]  member   any bytes
--
-- returns  {1, degraded}  it is counted, was counted before, or the latch is
--              open; degraded 1: the server denied to tell the waiters
--          {6}  others expect another number
--
-- Invariants: a member counts once in a generation, and an operation once,
-- however often it is sent. The first to arrive arms the latch. A full server
-- refuses that one before anything is written, and no other.

local expected, ttl, member = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]

if op.ran() then
    return {1, 0}
elseif latch.phase ~= 'unset' and latch.size ~= 0 and latch.size ~= expected
then
    return {6}
elseif latch.phase == 'armed' and latch.arrived(member) then
    return {1, 0}
end

local bad
local arms = latch.phase == 'unset'
if not arms then
    bad = op.sweep()
end
bad = bad or change.begin()
if bad then
    return bad
elseif latch.phase == 'open' then
    return {1, 0}
end

bad = op.note()
if not bad and arms then
    bad = change.arm(expected, ttl, member)
elseif not bad then
    bad = change.enter(member) or change.count(1, ttl, expected)
end
if bad then
    op.forget()
    change.exit(member)
    change.clear(member)
    change.undo()
    return bad
end
return {1, (arms or latch.phase == 'open') and change.tell() or 0}
