-- SPDX-License-Identifier: MIT
-- see: who holds the lock. The waiters are known to the server alone.
--
-- Invariants: nothing is changed.

local holder = redis.call('GET', lock_key)
return {SEEN, 0, holder
    and {group.holder({claim = holder, count = 1, fence = 0, held = 0,
        left = redis.call('PTTL', lock_key), reason = '', mode = 'x'})}
    or {}, {}}
