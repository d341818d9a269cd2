-- SPDX-License-Identifier: MIT
-- seat: making a claim the holder of one permit.

-- The writes of it in their order, as books has them: the permit, what is known of
-- it, the record. most: for how long its score lasts. pays: it is paid first, as
-- whoever may pay may take that back; else one is given back for it. Returns
-- whether it has a permit that it had not, else all is as before, as where the
-- counter has an end; and an error of what followed; taking it back is books'.
local function seat(counter, zset, holders, key, id, score, told, most, life, text,
    pays)
    local left, end_ms = redis.call('PTTL', holders),
        redis.call('PTTL', counter)
    local keep = most + life
    if end_ms > 0 or pays and type(redis.pcall('INCRBY', counter, '-1')) == 'table' then
        return false
    elseif redis.pcall('ZADD', zset, 'NX', score, id) ~= 1 then
        if pays then
            redis.pcall('INCRBY', counter, '1')
        end
        return false
    end
    local reply = redis.pcall('HSET', holders, id, told)
    if left < keep and type(reply) ~= 'table' then
        -- Longer than it has to, so that most grants need no command for it.
        reply = redis.pcall('PEXPIRE', holders,
            string.format('%.0f', keep + life))
    end
    reply = type(reply) == 'table' and reply
        or redis.pcall('SET', key, text, 'PX',
            string.format('%.0f', left < keep and keep or left))
    return true, reply.err and reply or nil
end
