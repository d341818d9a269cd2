-- SPDX-License-Identifier: MIT
-- see: who holds the lock. The waiters are known to the server alone.
--
-- Invariants: nothing is changed.

local holder = redis.call('GET', lock_key)
return {SEEN, 0, holder
    and {holder, 1, 0, 0, redis.call('PTTL', lock_key), '', 'x'} or {}, {}}
