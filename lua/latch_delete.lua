-- SPDX-License-Identifier: MIT
-- latch_delete: make a latch unset, and send its waiters away.
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
--
-- returns  {1, degraded}  it is unset; degraded 1: the server denied to tell
--              the waiters, who will look
--          {0}  it was unset before
--
-- Invariants: half done it is never taken for open. Sent again it answers as
-- it did. A full server does not refuse it.

if op.ran() then
    return {1, 0}
elseif latch.phase == 'unset' then
    return {0}
end

local bad = op.sweep() or change.begin()
if bad then
    return bad
end
bad = op.note() or change.drop()
if bad then
    op.forget()
    change.undo()
    return bad
end
redis.pcall('DEL', members)
return {1, change.tell()}
