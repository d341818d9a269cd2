-- SPDX-License-Identifier: MIT
-- join: making a claim one more of those who read.
-- needs: lengthen

-- The writes of it in their order, as share has them. ends: for how long the hash
-- lives then; keep: grants and record at least. What the record says stays. Returns
-- an error, and then the claim does not read, or nil.
local function join(lock, holders, key, timeout, claim, lease, ends, keep, grant)
    local reply = redis.pcall('HSET', lock, claim, '1')
    reply = type(reply) == 'table' and reply
        or redis.pcall('PEXPIRE', lock, ends)
    reply = type(reply) == 'table' and reply
        or redis.pcall('SET', timeout, '1', 'PX', lease)
    reply = reply.err and reply or redis.pcall('HSET', holders, claim, grant)
    reply = type(reply) == 'table' and reply or lengthen(holders, keep)
    reply = type(reply) == 'table' and reply or lengthen(key, keep)
    if type(reply) ~= 'table' then
        return nil
    end
    redis.pcall('HDEL', lock, claim)
    redis.pcall('DEL', timeout)
    redis.pcall('HDEL', holders, claim)
    return reply
end
