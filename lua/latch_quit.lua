-- SPDX-License-Identifier: MIT
-- latch_quit: a member takes its arrival back, unless the latch has opened.
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
-- ARGV[4]  count    not used
-- ARGV[5]  ttl      in ms; 0: as it was set
-- ARGV[6]  member   any bytes
--
-- returns  {1}  the latch is open: the others start
--          {0}  it is not, and the member is not counted in it
--
-- Invariants: an arrival that is taken back is counted back once, and sent
-- again it answers as it did. The last one takes the latch away that the first
-- one armed, unless somebody waits. A full server does not refuse it.

local member = ARGV[6]

if op.ran() then
    return {0}
end
local at = latch.phase == 'armed' and latch.arrived(member)
local bad = op.sweep() or change.begin()
if bad then
    return bad
elseif latch.phase == 'open' or not at then
    return {latch.phase == 'open' and 1 or 0}
end

bad = op.note() or change.exit(member)
local is_last = not bad and latch.met and latch.count + 1 == latch.size
    and not latch.is_attended() and redis.call('ZCARD', KEYS[3]) == 0
bad = bad or is_last and change.disarm()
    or not is_last and change.count(-1, tonumber(ARGV[5])) or nil
if bad then
    op.forget()
    change.enter(member, at)
    change.undo()
    return bad
end
change.clear(member)
return {0}
