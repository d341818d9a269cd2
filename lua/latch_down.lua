-- SPDX-License-Identifier: MIT
-- latch_down: count a latch down; the last one opens it.
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
-- ARGV[4]  count    1 or more; what is more than is left does no harm
-- ARGV[5]  ttl      in ms; 0: as it was set
--
-- returns  {1, degraded}  it is counted, or the latch was open; degraded 1:
--              the server denied to tell the waiters, who will look
--          {5}  there was nothing to count
--
-- Invariants: an operation counts once, however often it is sent. It opens in
-- the one call that counts the last. A full server does not refuse it.

if op.ran() then
    return {1, 0}
elseif latch.phase == 'unset' then
    return {5}
end

local bad = op.sweep() or change.begin()
if bad then
    return bad
elseif latch.phase == 'open' then
    return {1, 0}
end
bad = op.note() or change.count(tonumber(ARGV[4]), tonumber(ARGV[5]))
if bad then
    op.forget()
    change.undo()
    return bad
end
return {1, latch.phase == 'open' and change.tell() or 0}
