-- SPDX-License-Identifier: MIT
-- part_lease: how long keys live.
-- Needs: part_error, and that part_clock's clock was looked at.

local lease = {}

-- Makes key live for at least ms from now and returns how long it will. A key
-- without an end gets one: a hold that nobody renews must end. An error is
-- returned as redis.pcall does.
function lease.lengthen(key, ms)
    local left = redis.pcall('PTTL', key)
    if failed(left) or left >= ms or left == -2 then
        return left
    end
    local reply = redis.pcall('PEXPIRE', key, ms)
    return failed(reply) or ms
end

-- Keeps a state hash for at least six days beyond a hold of ms. kept is its
-- field: the server time until which its TTL lasts, so that most grants and
-- renewals need no command for it. Returns an error or nil.
function lease.keep(state_key, kept, ms)
    local day = 86400000
    local life = 7 * day + ms
    if kept and kept + day >= clock.ms + life then
        return nil
    end
    local reply = redis.pcall('PEXPIRE', state_key, life)
    if reply == 1 then
        reply = redis.pcall('HSET', state_key, 'kept', clock.ms + life)
    end
    return failed(reply)
end
