-- SPDX-License-Identifier: MIT
-- part_forget: removing what is kept of a name that nobody uses. Whether that
-- is so, the script itself finds out before.
-- calls: HLEN ZCARD
-- Needs: part_error, and that part_clock's clock was looked at; the local
-- state, which is the key of the record.
--
-- What a script answers:
--
--   {1, kept}         it is removed; kept 1: but for what a record leaves to
--                     the next one, for an hour
--   {0}               nothing is kept
--   {2, owner, left}  this one holds it, for another left ms at most, -1:
--                     without an end; nothing was changed
--   {3, waiters}      so many wait for it, or did a moment ago; the same

local forget = {}

-- So long a record's numbers are kept: the clock has passed them by then,
-- unless it was set back by more.
local KEEP_MS = 3600000
local SIZES = {hash = 'HLEN', zset = 'ZCARD'}

-- How much is in these keys together. One of another type ends the script.
function forget.size(kind, ...)
    local sum = 0
    for _, key in ipairs({...}) do
        sum = sum + redis.call(SIZES[kind], key)
    end
    return sum
end

-- How many listen to these channels, as others' waiters do. A server that will
-- not say ends the script.
function forget.listeners(...)
    local counts, sum = redis.call('PUBSUB', 'NUMSUB', ...), 0
    for i = 2, #counts, 2 do
        sum = sum + counts[i]
    end
    return sum
end

-- Whether all claims in the zset are void no longer. One that still is may have
-- a request on its way, whatever the name is used for then.
local function is_over(marks)
    return redis.call('ZCOUNT', marks, string.format('(%.0f', clock.ms),
        '+inf') == 0
end

-- What a record leaves to the next one, whatever its kind: the last fence; and
-- up to which ticket those waited whose bare counter was deleted, by which the
-- memo, that stays, knows one counter from the next. A latch calls something
-- else so.
local function legacy()
    local marks = redis.call('HMGET', state, 'fence', 'top', 'gone', 'kind')
    local last = math.max(tonumber(marks[1]) or 0, tonumber(marks[2]) or 0)
    local left = last > 0 and {'fence', last, 'top', last} or {}
    if marks[3] and marks[4] ~= 'latch' then
        left[#left + 1] = 'gone'
        left[#left + 1] = marks[3]
    end
    return left
end

-- Without `v` and `kind` it is no kind's. It must not stay for ever.
local function leave(fields)
    if #fields == 0 then
        return 0
    end
    local bad = failed(redis.pcall('HSET', state, unpack(fields)))
        or failed(redis.pcall('PEXPIRE', state, KEEP_MS))
    if bad then
        redis.pcall('DEL', state)
    end
    return bad and 0 or 1
end

-- Removes these keys and the record, at once. marks: the zset of claims that
-- are void, or nil.
function forget.all(marks, ...)
    local keys, fields = {state, ...}, legacy()
    if marks and is_over(marks) then
        keys[#keys + 1] = marks
    end
    redis.call('DEL', unpack(keys))
    return {1, leave(fields)}
end
