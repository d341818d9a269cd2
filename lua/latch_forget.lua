-- SPDX-License-Identifier: MIT
-- latch_forget: remove what is kept of a latch that is open, or that nobody
-- waits for, its count as well.
-- uses: part_error part_master part_clock part_latch part_waiting part_forget
-- texts: who holds it
--
-- KEYS[1]  count    string  what is left to count; Redisson's
-- KEYS[2]  state    hash    the record: phase, generation, time
-- KEYS[3]  waiting  zset    claim that waits -> last seen, in ms
-- KEYS[4]  tickets  hash    claim -> since when, inbox, reason
-- KEYS[5]  members  zset    who arrived in this generation -> when, in us
-- KEYS[6]  memo     zset    operation that ran -> when, in ms; stays
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  not used
--
-- returns  see part_forget
--
-- Invariants: those of lock_forget. What no client of ours has used stays. It
-- is never taken for open because its count is gone: the record goes with it,
-- and the next generation has a larger number by the server's clock. The memo
-- stays for its eleven minutes, in which a change may be sent again.

local refused = replica_refuses()
if refused then
    return refused
end

forget.size('zset', members, waiting)
forget.size('hash', tickets)
if latch.phase ~= 'open' then
    local waiters = math.max((listed.all()),
        forget.listeners(latch.channel(), ARGV[2]))
    if waiters > 0 then
        return {3, waiters}
    end
end
if not latch.known then
    return {0}
end
return forget.all(nil, name, waiting, tickets, members)
