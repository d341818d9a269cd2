-- SPDX-License-Identifier: MIT
-- part_fences: which fences a hold may give to the owners it passes between.
-- Needs: part_error, part_record, and that part_clock's clock was looked at.
--
-- A grant has the fences from `fence`, by which it is known, up to `top`. A
-- client spends them among its own threads without asking. No two grants of a
-- name share one, and a later grant's are all larger.

local fences = {}

-- So many fences a grant has beyond its first.
local SPARE = 63
-- At most so far are they ahead of the server's clock, in us. Where the record
-- is lost, the clock must have passed them before the next grant.
local AHEAD = 100000

-- Redisson's counter of the same name, or nil where there is none; and an
-- error if it cannot be read.
local function counter()
    local token = redis.pcall('GET', KEYS[6])
    if failed(token) then
        return nil, token
    elseif not token then
        return nil
    end
    local count = tonumber(token)
    if not count then
        return nil, redis.error_reply('LKTYPE the token key is not a counter')
    end
    return count
end

-- Sets Redisson's counter, where there is one or Redisson is known to be
-- there. Returns an error or nil.
function fences.tell(top, count)
    if not count and ARGV[3] ~= '1' then
        return nil
    end
    return failed(redis.pcall('SET', KEYS[6], top, 'KEEPTTL'))
end

-- The fences of the next grant: above all earlier ones of this name, and not
-- behind the server's clock, so that they go on growing when the record of
-- the last ones is lost. Returns {fence, top, count}, count being Redisson's;
-- or nil and an error.
function fences.next()
    local count, bad = counter()
    if bad then
        return nil, bad
    end
    local fence = math.max(record.top + 1, clock.us, (count or 0) + 1)
    bad = beyond(fence, 'fences')
    if bad then
        return nil, bad
    end
    local top = math.max(fence, math.min(fence + SPARE, clock.us + AHEAD))
    return {fence = fence, top = top, count = count}
end

-- Reserves up to n more for the hold that is on record and ends in left ms.
-- Returns the highest fence it has then. What the server refuses is not
-- reserved; nor is anything where Redisson counted on meanwhile. Redisson is
-- told first: a counter that is ahead does no harm.
function fences.reserve(n, left)
    local top = math.min(record.top + n, clock.us + AHEAD)
    if top <= record.top then
        return record.top
    end
    local count, bad = counter()
    if bad or (count or 0) > record.top then
        return record.top
    end
    -- Changes nothing; a full server lets through what follows such a write.
    bad = failed(redis.pcall('PEXPIRE', lock, left))
        or fences.tell(top, count)
        or failed(redis.pcall('HSET', state, 'top', top))
    return bad and record.top or top
end
