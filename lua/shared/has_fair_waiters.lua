-- SPDX-License-Identifier: MIT
-- has_fair_waiters: who waits for Redisson's fair lock.
-- needs: audience failed

-- Whether one of the first in Redisson's fair queue listens on its own channel.
-- Killed, Redisson's waiters leave their queue behind, which has no end.
local function has_fair_waiters(fairq, channel)
    local owners = redis.pcall('LRANGE', fairq, '0', '15')
    if failed(owners) or #owners == 0 then
        return false
    end
    for i = 1, #owners do
        owners[i] = channel .. ':' .. owners[i]
    end
    local counts = audience(owners)
    for i = 2, #counts, 2 do
        if counts[i] > 0 then
            return true
        end
    end
    return failed(counts) ~= nil
end
