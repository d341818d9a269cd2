-- SPDX-License-Identifier: MIT
-- part_revoke: having holds end that several may have. A claim that is void is
-- not renewed, and its hold stands until it is released or its lease ends.
-- Needs: part_error, part_clock, looked at, part_lease, part_void.

local revoke = {}

-- A claim stays void for so long after its lease.
local BEYOND_MS = 60000

-- Whether the claim is not to be renewed.
function revoke.is_void(claim)
    return type(redis.pcall('ZSCORE', void.key, claim)) == 'string'
end

-- Has the hold of a claim, which lasts for another left ms, not be renewed.
-- Returns an error or nil.
function revoke.mark(claim, left)
    -- Not refused by a full server, which lets through what follows.
    redis.call('ZREMRANGEBYSCORE', void.key, '-inf', clock.ms)
    return void.bury(claim, math.max(left, 0) + BEYOND_MS)
end

-- Tells a holder. One that is not told finds out when it renews.
function revoke.tell(family, claim, fence, inbox)
    if inbox ~= '' then
        redis.pcall('PUBLISH', inbox, string.format('revoked %s %s %.0f ',
            family, claim, fence) .. lock)
    end
end
