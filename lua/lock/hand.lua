-- SPDX-License-Identifier: MIT
-- hand: making a waiter the owner of a name that is held.

-- The writes of a hand-over in their order, the new owner before the old one
-- goes; reply says how the last one ended. The first changes nothing: whoever may
-- not let the owner out does not let another one in, nor shorten the lease. The member leaves the queue last, so
-- that nothing has to be put back there. Returns an error or nil; taking it back
-- is give's.
local function hand(lock, key, queue_at, own_text, next_claim, claim, ms, text,
                    life)
    local reply = redis.pcall('HDEL', lock, '')
    reply = type(reply) == 'table' and reply
        or redis.pcall('PEXPIRE', lock, ms)
    reply = type(reply) == 'table' and reply
        or redis.pcall('HSET', lock, next_claim, '1')
    reply = type(reply) == 'table' and reply
        or redis.pcall('HDEL', lock, claim)
    reply = type(reply) == 'table' and reply
        or redis.pcall('SET', key, text, 'PX', life)
    reply = reply.err and reply or redis.pcall('ZREM', queue_at, own_text)
    return type(reply) == 'table' and reply or nil
end
