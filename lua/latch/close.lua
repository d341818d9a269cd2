-- SPDX-License-Identifier: MIT
-- close: a claim waits no more.
--
-- was: 1 it was listed, 0 it was not.
--
-- Invariants: the latch is as before. A full server does not refuse it.
-- needs: failed

local was = redis.pcall('ZREM', queue_key, own)
if failed(was) then
    return was
elseif was == 1 and redis.pcall('ZCOUNT', queue_key, '281474976710656',
        '+inf') == 0 then
    redis.pcall('DEL', queue_key)
end
return {CLOSED, was}
