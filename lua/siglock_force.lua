-- SPDX-License-Identifier: MIT
-- siglock_force: end whoever's hold it is and tell one of those who wait.
-- uses: part_error part_siglock
--
-- KEYS[1]  lock    string  the holder's id; its TTL is the lease, if it has one
-- KEYS[2]  signal  list    one element when the name has become free
-- KEYS[3]  void    zset    claim that must not acquire -> until when
-- ARGV[1]  owner    whose hold it has to be; empty: whoever's
-- ARGV[2..3]        of no use
--
-- returns  {1, 0, degraded}  as siglock_release
--          {0}  nobody held it, or that one did not
--
-- Invariants: as siglock_release. The holder is not told; it finds out when it
-- renews.

if not siglock.holder or ARGV[1] ~= '' and ARGV[1] ~= siglock.holder then
    return {0}
end
redis.call('DEL', lock)
return {1, 0, siglock.tell()}
