-- SPDX-License-Identifier: MIT
-- part_quick_free: a lock for which nobody of ours waits is released in few
-- commands. Goes first, as part_quick_take does, and like it leaves whatever
-- is not quite plain to the script.
--
-- If somebody hears that it is free, the others' turn begins, as part_others
-- says, unless it is still ours: one of ours that comes at once comes after
-- them.

do
    local lock, state = KEYS[1], KEYS[2]
    local marks = redis.pcall('EXISTS', KEYS[3], KEYS[8], KEYS[9]) == 0
        and redis.pcall('HMGET', state, 'v', 'claim', 'fence', 'until')
    if marks and not marks.err and marks[1] == '1' and marks[2] == ARGV[1]
            and marks[3] == ARGV[4]
            and redis.pcall('HGET', lock, ARGV[1]) == '1' then
        local reply = redis.pcall('DEL', lock)
        if reply ~= 1 then
            return reply
        end
        reply = redis.pcall('PUBLISH', ARGV[2], '0')
        local denied = type(reply) == 'table'
        if not denied and reply > 0 then
            local time = redis.call('TIME')
            local now = time[1] * 1000 + math.floor(time[2] / 1000)
            local till = tonumber(marks[4]) or 0
            if now >= till or till > now + 2000 then
                redis.pcall('HSET', state, 'open', now, 'came', 0)
            end
        end
        return {1, 0, denied and 1 or 0}
    end
end
