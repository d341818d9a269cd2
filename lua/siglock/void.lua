-- SPDX-License-Identifier: MIT
-- void: claims that were given up while a request of theirs may still be on its
-- way, and those whose hold was revoked. In a zset each stands until its score, in
-- ms.
-- needs: clock failed lengthen

local void = {}

-- Whether the claim must not acquire.
function void.refuses(key, claim)
    local till = redis.call('ZSCORE', key, claim)
    return till and tonumber(till) > clock.ms
end

-- Whether the claim must not be renewed: it stays so for as long as it is there.
function void.has(key, claim)
    return type(redis.pcall('ZSCORE', key, claim)) == 'string'
end

-- Has the claim be void for ms. Returns an error, and then it is not, or nil. Those
-- whose time is over go last, so that the key is never gone in between.
function void.add(key, claim, ms)
    clock.look()
    -- Changes nothing; a full server lets through what follows.
    redis.pcall('ZREM', key, '')
    local bad = failed(redis.pcall('ZADD', key, clock.ms + ms, claim))
    if bad then
        return bad
    end
    bad = failed(lengthen(key, ms))
    if bad then
        redis.pcall('ZREM', key, claim)
    else
        redis.pcall('ZREMRANGEBYSCORE', key, '-inf', clock.ms)
    end
    return bad
end
