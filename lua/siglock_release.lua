-- SPDX-License-Identifier: MIT
-- siglock_release: give the lock up and tell one of those who wait.
-- uses: part_error part_siglock
--
-- KEYS[1]  lock    string  the holder's id; its TTL is the lease, if it has one
-- KEYS[2]  signal  list    one element when the name has become free
-- KEYS[3]  void    zset    claim that must not acquire -> until when
-- ARGV[1]  owner    the claim
-- ARGV[2..4]        of no use
--
-- returns  {1, 0, degraded}  released; degraded 1: the server denied the
--              signal, waiters must look for themselves
--          {0, code}  not the holder; 0: nobody is, 2: another is
--
-- Invariants: on a mismatch nothing changes. A full server does not refuse it.

if siglock.holder ~= ARGV[1] then
    return {0, siglock.code()}
end
redis.call('DEL', lock)
return {1, 0, siglock.tell()}
