-- SPDX-License-Identifier: MIT
-- siglock_leave: end a claim, whatever became of it. It may have popped the
-- signal, so a name that is free is told to the next.
-- uses: part_error part_clock part_lease part_void part_siglock
--
-- KEYS[1]  lock    string  the holder's id; its TTL is the lease, if it has one
-- KEYS[2]  signal  list    one element when the name has become free
-- KEYS[3]  void    zset    claim that must not acquire -> until when
-- ARGV[1]  owner    the claim
-- ARGV[2..3]        of no use
-- ARGV[4]  tombstone_ms  > 0: for so long siglock_acquire refuses the claim
--
-- returns  {n, 0, degraded}  n 2: it held, 0: it did not; degraded as in
--              siglock_release
--
-- Invariants: afterwards the claim does not hold. A name that another holds is
-- not told: that one will. A full server does not refuse it.

local owner, stone_ms = ARGV[1], tonumber(ARGV[4])
local held, bad, degraded = siglock.holder == owner, nil, 0

if held then
    redis.call('DEL', lock)
end
if stone_ms > 0 then
    clock.look()
    bad = void.bury(owner, stone_ms)
end
if held or not siglock.holder then
    degraded = siglock.tell()
end
return bad or {held and 2 or 0, 0, degraded}
