-- SPDX-License-Identifier: MIT
-- part_permit_quick_free: one permit for which nobody of ours waits is given
-- back in few commands. Goes first, as part_permit_quick_take does, and like it
-- leaves whatever is not quite plain to the script.

do
    local counter, zset, holders = KEYS[1], KEYS[6], KEYS[8]
    local free = redis.pcall('EXISTS', KEYS[3]) == 0
        and redis.pcall('GET', counter)
    if type(free) == 'string' and string.find(free, '^-?%d+$') then
        local hex = redis.sha1hex(ARGV[1] .. ':1')
        local id = struct.pack('>I4I4I4I4', tonumber(string.sub(hex, 1, 8), 16),
            tonumber(string.sub(hex, 9, 16), 16),
            tonumber(string.sub(hex, 17, 24), 16),
            tonumber(string.sub(hex, 25, 32), 16))
        local known = redis.pcall('HGET', holders, id)
        local claim, fence = string.match(
            type(known) == 'string' and known or '', '^(%S+) (%d+) 1 ')
        if claim == ARGV[1] and fence == ARGV[4]
                and redis.pcall('ZREM', zset, id) == 1 then
            local reply = redis.pcall('INCRBY', counter, 1)
            if type(reply) == 'table' then
                local time = redis.call('TIME')
                redis.pcall('ZADD', zset, time[1] * 1000, id)
                return reply
            end
            redis.pcall('HDEL', holders, id)
            if reply > 0 then
                reply = redis.pcall('PUBLISH', ARGV[2], reply)
            end
            return {1, 0, type(reply) == 'table' and 1 or 0}
        end
    end
end
