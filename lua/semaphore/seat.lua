-- SPDX-License-Identifier: MIT
-- seat: making a claim the holder of one permit.

-- The writes of it in their order, as books has them: the permit, what is known of
-- it, the record. most: for how long its score lasts. As in Redisson, the zset ends
-- with the counter. Returns whether it has a permit that it had not, else nothing was
-- written, and an error of what followed; taking it back is books'.
local function seat(counter, zset, holders, key, id, score, told, most, life, text)
    local left, end_ms = redis.call('PTTL', holders),
        redis.call('PTTL', counter)
    local keep = most + life
    if redis.pcall('ZADD', zset, 'NX', score, id) ~= 1 then
        return false
    end
    local reply = redis.pcall('HSET', holders, id, told)
    if left < keep and type(reply) ~= 'table' then
        -- Longer than it has to, so that most grants need no command for it.
        reply = redis.pcall('PEXPIRE', holders,
            string.format('%.0f', keep + life))
    end
    if end_ms > 0 and type(reply) ~= 'table' then
        reply = redis.pcall('PEXPIRE', zset, string.format('%.0f', end_ms))
    end
    reply = type(reply) == 'table' and reply
        or redis.pcall('SET', key, text, 'PX',
            string.format('%.0f', left < keep and keep or left))
    return true, reply.err and reply or nil
end
