-- SPDX-License-Identifier: MIT
-- begin: making a claim the only holder of a free name.

-- The writes of it in their order, as share has them. field is the claim's in the
-- hash; grant is what is known of a reader, nil: it writes. keep: for how long
-- grant and record live. Returns an error, and then the name is as free as before,
-- or nil.
local function begin(lock, holders, key, timeout, claim, mode, field, lease, keep,
                     grant, text)
    local reply = redis.pcall('HSET', lock, 'mode', mode, field, '1')
    reply = type(reply) == 'table' and reply
        or redis.pcall('PEXPIRE', lock, lease)
    reply = type(reply) == 'table' and reply
        or redis.pcall('DEL', holders) -- they ended with the hash
    if grant and type(reply) ~= 'table' then
        reply = redis.pcall('SET', timeout, '1', 'PX', lease)
        reply = reply.err and reply
            or redis.pcall('HSET', holders, claim, grant)
        reply = type(reply) == 'table' and reply
            or redis.pcall('PEXPIRE', holders, keep)
    end
    reply = type(reply) == 'table' and reply
        or redis.pcall('SET', key, text, 'PX', keep)
    if not reply.err then
        return nil
    end
    redis.pcall('HDEL', lock, field)
    redis.pcall('DEL', timeout)
    redis.pcall('HDEL', holders, claim)
    if redis.pcall('DEL', lock) ~= 1 then
        redis.pcall('HDEL', lock, 'mode')
    end
    return reply
end
