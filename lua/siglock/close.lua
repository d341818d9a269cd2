-- SPDX-License-Identifier: MIT
-- close: end a hold and tell one of those who wait.
--
-- why  r  release the claim's hold
--      l  leave: end the claim, whatever became of it; with stone it may not
--         acquire for so many ms
--      f  force: end the hold of the claim, or, where that is empty, whoever's it
--         is
--
-- was: it was held.
--
-- Invariants: of another's hold nothing is changed. A claim that leaves may have
-- popped the signal, so a name that is free is told to the next; a name that another
-- holds is not: that one will. Where the server denies the signal, waiters look. A
-- full server does not refuse it. A holder that is forced out is not told; it finds
-- out when it renews.
-- needs: failed void

local holder = redis.call('GET', lock_key)
local was = holder and (holder == claim or why == 'f' and claim == '')
if was then
    redis.call('DEL', lock_key)
end
local bad = stone and void.add(void_key, claim, tonumber(stone))
if was or why == 'l' and not holder then
    -- One signal lies there at a time, for a second: two would wake two for one
    -- lock. One that is there stays: in a slot that moves, a key that was removed
    -- cannot be made again. Where its end is denied it stays: without one a waiter
    -- of python-redis-lock might sleep for ever.
    local lies = redis.pcall('LLEN', signal_key) == 1
    if not lies then
        redis.pcall('DEL', signal_key)
        lies = not failed(redis.pcall('LPUSH', signal_key, 1))
    end
    if lies then
        redis.pcall('PEXPIRE', signal_key, 1000)
    end
end
return bad or {CLOSED, was and 1 or 0}
