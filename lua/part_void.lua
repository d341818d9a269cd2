-- SPDX-License-Identifier: MIT
-- part_void: claims that were given up while a request of theirs may still be
-- on its way. In the zset void.key each is refused until its score, in ms. It
-- is KEYS[7]; KEYS[3] of a script with three keys.
-- Needs: part_error, part_lease, and that part_clock's clock was looked at.

local void = {key = KEYS[7] or KEYS[3]}
-- So many that are over are forgotten at a time.
local SWEEP = 64

-- Whether acquire must refuse the claim.
function void.refuses(claim)
    local till = redis.call('ZSCORE', void.key, claim)
    return till and tonumber(till) > clock.ms
end

-- Has the claim refused for ms. Returns an error, and then it is not, or nil.
function void.bury(claim, ms)
    local bad = failed(redis.pcall('ZADD', void.key, clock.ms + ms, claim))
    if bad then
        return bad
    end
    bad = failed(lease.lengthen(void.key, ms))
    if bad then
        redis.pcall('ZREM', void.key, claim)
        return bad
    end
    local over = redis.pcall('ZRANGEBYSCORE', void.key, '-inf', clock.ms,
        'LIMIT', 0, SWEEP)
    if not failed(over) and #over > 0 then
        redis.pcall('ZREM', void.key, unpack(over))
    end
    return nil
end
