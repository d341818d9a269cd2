-- SPDX-License-Identifier: MIT
-- take: making a claim the owner of a free name.

-- Writes owner, lease and record. Returns an error, and then the name is as
-- free as before, or nil.
local function take(lock, key, claim, lease, life, text)
    local reply = redis.pcall('HSET', lock, claim, '1')
    if type(reply) == 'table' then
        return reply
    end
    reply = redis.pcall('PEXPIRE', lock, lease)
    if type(reply) ~= 'table' then
        reply = redis.pcall('SET', key, text, 'PX',
            string.format('%d', lease + life))
    end
    if reply.err then
        if redis.pcall('DEL', lock) ~= 1 then
            redis.pcall('HDEL', lock, claim)
        end
        return reply
    end
    return nil
end
