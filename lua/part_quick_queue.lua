-- SPDX-License-Identifier: MIT
-- part_quick_queue: a claim that comes new to a lock which one of ours holds is
-- queued in few commands. Comes after part_quick_take, and as that one it
-- leaves whatever is not quite plain to the script: a claim that was given up
-- or waits already, a holder of another library, waiters that were skipped.
--
-- It leaves and answers what part_seek does.

do
    local lock, queue, tickets = KEYS[1], KEYS[3], KEYS[4]
    local fields = ARGV[5] == '1'
        and redis.pcall('EXISTS', KEYS[5], KEYS[7]) == 0
        and redis.pcall('HGETALL', lock)
    local holder = fields and #fields == 2 and fields[1] ~= ARGV[1]
        and fields[1] ~= 'mode' and fields[1]
    local marks = holder and redis.pcall('HMGET', KEYS[2], 'v', 'claim')
    local slots = marks and marks[1] == '1' and marks[2] == holder
        and redis.pcall('HMGET', tickets, ARGV[1], '#')
    if slots and not slots.err and not slots[1]
            and (tonumber(slots[2]) or 0) < 9007199254740991 then
        local left = redis.call('PTTL', lock)
        local time = redis.call('TIME')
        local us = time[1] * 1000000 + time[2]
        local now = math.floor(us / 1000)
        local ticket = math.max((tonumber(slots[2]) or 0) + 1, us)

        local reply = redis.pcall('ZADD', queue, ticket, ARGV[1])
        if type(reply) == 'table' then
            return reply
        end
        reply = redis.pcall('PEXPIRE', queue, 60000)
        if reply == 1 then
            reply = redis.pcall('HSET', tickets, '#', ticket, ARGV[1],
                string.format('%.0f x 1 %s %.0f %.0f ', ticket, ARGV[4], now,
                    now) .. ARGV[6] .. ' ' .. ARGV[7])
        end
        if type(reply) == 'number' then
            reply = redis.pcall('PEXPIRE', tickets, 60000)
        end
        if type(reply) == 'table' then
            redis.pcall('ZREM', queue, ARGV[1])
            redis.pcall('HDEL', tickets, ARGV[1])
            return reply
        end
        return {0, left, ticket, 0}
    end
end
