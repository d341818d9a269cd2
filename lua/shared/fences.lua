-- SPDX-License-Identifier: MIT
-- fences: above all earlier ones of the name, and not behind the clock, so that
-- they go on growing where the record of the last ones is lost.

-- The first fence of the next grant, and how many are reserved above it for the
-- client to hand on among its own threads: 63 at most, and none that is more
-- than 0.1 s ahead of the clock or beyond the last. Of the last grant the same, as
-- texts; count is Redisson's, or false. Or nil and an error.
local function fences(us, last, spare, count)
    local token = tonumber(count or 0)
    if not token then
        return nil, redis.error_reply('LKTYPE the token key is not a counter')
    end
    local fence, least = last + spare + 1, us
    if token >= least then
        least = token + 1
    end
    if fence < least then
        fence = least
    end
    if fence > 9007199254740991 then
        return nil, redis.error_reply(
            'LKRANGE the name has no more fences: one was set to 2^53')
    end
    local over = math.min(us + 100000, 9007199254740991) - fence
    return fence, over > 63 and 63 or over > 0 and over or 0
end
