-- SPDX-License-Identifier: MIT
-- part_permit_quick_take: one permit that is free, and that nobody else has
-- anything to do with, is taken in few commands. Goes first: it needs no other
-- fragment, and the server does not have to build them.
--
-- It leaves what part_permit_room leaves. Whatever is not quite plain, it
-- leaves to the script: several permits, a number to be compared or that ends
-- by itself, a queue, a claim that was given up or asks again, an open turn.

do
    local need = ARGV[10] == '1' and ARGV[3] ~= '1'
        and (ARGV[12] == 'set' or ARGV[12] == '')
    local counter, zset, holders = KEYS[1], KEYS[6], KEYS[8]
    local alone = need and redis.pcall('EXISTS', KEYS[3], KEYS[5], KEYS[7]) == 0
    local free = alone and redis.pcall('GET', counter)
    local marks = type(free) == 'string' and string.find(free, '^[1-9]%d*$')
        and redis.pcall('HMGET', KEYS[2], 'v', 'kind', 'fence', 'kept', 'open',
            'ends')
    if marks and not marks.err and marks[1] == '1' and marks[2] == 'leased'
            and (marks[5] or '0') == '0'
            and (tonumber(marks[3]) or 0) < 9007199254740991
            and redis.pcall('PTTL', counter) == -1 then
        local time, ms = redis.call('TIME'), tonumber(ARGV[4])
        local us = time[1] * 1000000 + time[2]
        local now = math.floor(us / 1000)
        local fence = math.max((tonumber(marks[3]) or 0) + 1, us)
        local hex = redis.sha1hex(ARGV[1] .. ':1')
        local id = struct.pack('>I4I4I4I4', tonumber(string.sub(hex, 1, 8), 16),
            tonumber(string.sub(hex, 9, 16), 16),
            tonumber(string.sub(hex, 17, 24), 16),
            tonumber(string.sub(hex, 25, 32), 16))

        local is_kept = (tonumber(marks[4]) or 0) >= now + 6 * 86400000 + ms
        if is_kept and redis.pcall('ZADD', zset, 'NX', now + ms, id) == 1 then
            local reply = redis.pcall('INCRBY', counter, -1)
            local paid = type(reply) == 'number'
            if paid then
                reply = redis.pcall('HSET', holders, id, string.format(
                    '%s %.0f 1 0 %.0f 0 %s ', ARGV[1], fence, now, ARGV[6])
                    .. ARGV[7])
            end
            local left = type(reply) == 'number'
                and redis.pcall('PTTL', holders)
            if type(left) == 'number' and left < ms then
                left = redis.pcall('PEXPIRE', holders, ms + 3600000)
            end
            if type(left) == 'number' then
                reply = redis.pcall('HSET', KEYS[2], 'fence', fence, 'ends',
                    math.max(tonumber(marks[6]) or 0, now + ms))
            else
                reply = left or reply
            end
            if type(reply) == 'table' then
                local back = redis.pcall('ZREM', zset, id)
                if paid and back == 1 then
                    redis.pcall('INCRBY', counter, 1)
                end
                redis.pcall('HDEL', holders, id)
                return reply
            end
            return {1, fence, ms, fence}
        end
    end
end
