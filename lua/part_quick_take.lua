-- SPDX-License-Identifier: MIT
-- part_quick_take: a lock that is free, and that nobody else has anything to do
-- with, is taken in few commands. Goes first: it needs no other fragment, and
-- the server does not have to build them.
--
-- It leaves what part_hold leaves. Whatever is not quite plain, it leaves to
-- the script: a queue, Redisson's counter, a claim that was given up, an open
-- turn, a record that cannot be read or is another kind's.

do
    local lock, state = KEYS[1], KEYS[2]
    local absent = ARGV[3] ~= '1' and redis.pcall('EXISTS', lock, KEYS[3],
        KEYS[5], KEYS[6], KEYS[7]) == 0
    local marks = absent and redis.pcall('HMGET', state, 'v', 'fence', 'top',
        'kept', 'open', 'kind')
    if absent and not marks.err and (marks[1] or '1') == '1'
            and (marks[5] or '0') == '0' and not marks[6]
            and (tonumber(marks[3]) or 0) < 9007199254740991
            and (tonumber(marks[2]) or 0) < 9007199254740991 then
        local time, ms = redis.call('TIME'), tonumber(ARGV[4])
        local us = time[1] * 1000000 + time[2]
        local now = math.floor(us / 1000)
        local fence = math.max((tonumber(marks[2]) or 0) + 1,
            (tonumber(marks[3]) or 0) + 1, us)
        local top = math.max(fence, math.min(fence + 63, us + 100000))
        local life = 7 * 86400000 + ms

        local reply = redis.pcall('HSET', lock, ARGV[1], '1')
        if reply == 1 then
            reply = redis.pcall('PEXPIRE', lock, ms)
        end
        if reply == 1 then
            reply = redis.pcall('HSET', state, 'v', '1', 'fence', fence, 'top',
                top, 'claim', ARGV[1], 'ticket', '0', 'since', now, 'lease', ms,
                'inbox', ARGV[6], 'reason', ARGV[7])
        end
        local kept = tonumber(marks[4]) or 0
        if type(reply) == 'number' and kept + 86400000 < now + life then
            reply = redis.pcall('PEXPIRE', state, life)
            if reply == 1 then
                reply = redis.pcall('HSET', state, 'open', '0', 'until', '0',
                    'kept', now + life)
            end
        end
        if type(reply) == 'table' then
            if redis.pcall('DEL', lock) ~= 1 then
                redis.pcall('HDEL', lock, ARGV[1])
            end
            if not marks[4] then
                redis.pcall('DEL', state) -- one without a TTL would stay
            end
            return reply
        end
        return {1, fence, ms, top}
    end
end
