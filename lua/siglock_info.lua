-- SPDX-License-Identifier: MIT
-- siglock_info: who holds the lock. The waiters are known to the server alone.
-- uses: part_error part_siglock
-- texts: who holds and waits, in arrays
--
-- KEYS[1]  lock    string  the holder's id; its TTL is the lease, if it has one
-- KEYS[2]  signal  list    one element when the name has become free
-- KEYS[3]  void    zset    claim that must not acquire -> until when
-- ARGV[1..3]        of no use
--
-- returns  {{id, 1, 0, 0, lease left in ms, '', 'x'} or {}, 0, {}}
--
-- Invariants: nothing is changed.

if not siglock.holder then
    return {{}, 0, {}}
end
return {{siglock.holder, 1, 0, 0, redis.call('PTTL', lock), '', 'x'}, 0, {}}
