-- SPDX-License-Identifier: MIT
-- part_void: claims that were given up while a request of theirs may still be
-- on its way. In the zset KEYS[7] each is refused until its score, in ms.
-- Needs: part_error, part_lease, and that part_clock's clock was looked at.

local void = {}

-- Whether acquire must refuse the claim.
function void.refuses(claim)
    local till = redis.call('ZSCORE', KEYS[7], claim)
    return till and tonumber(till) > clock.ms
end

-- Has the claim refused for ms. Returns an error, and then it is not, or nil.
function void.bury(claim, ms)
    local bad = failed(redis.pcall('ZADD', KEYS[7], clock.ms + ms, claim))
    if bad then
        return bad
    end
    bad = failed(lease.lengthen(KEYS[7], ms))
    if bad then
        redis.pcall('ZREM', KEYS[7], claim)
        return bad
    end
    redis.pcall('ZREMRANGEBYSCORE', KEYS[7], '-inf', clock.ms)
    return nil
end
