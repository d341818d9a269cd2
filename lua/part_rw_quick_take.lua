-- SPDX-License-Identifier: MIT
-- part_rw_quick_take: a name that nobody waits for is taken in few commands, if
-- it is free, or to read beside others who read. Goes first: it needs no other
-- fragment, and the server does not have to build them.
-- calls: DEL HSET PEXPIRE PTTL SET
--
-- It leaves what part_rw_share leaves. Whatever is not quite plain, it leaves
-- to the script: who waits, or where others hold spins or is Redisson's, a
-- claim that was given up, an open turn, another order, a hold of the same
-- owner, a record that cannot be read.

do
    local lock, owner, how = KEYS[1], ARGV[1], ARGV[9]
    local there = ARGV[3] ~= '1' and redis.pcall('EXISTS', lock, KEYS[3],
        KEYS[5], KEYS[6], KEYS[7], KEYS[10], KEYS[11])
    local fields = there == 1 and how == 'r'
        and redis.pcall('HMGET', lock, 'mode', owner)
    local heard = fields and fields[1] == 'read' and not fields[2]
        and redis.pcall('EXISTS', KEYS[9]) == 0
        and redis.pcall('PUBSUB', 'NUMSUB', ARGV[2])
    local joins = heard and heard[2] == 0
    local marks = (there == 0 or joins) and redis.pcall('HMGET', KEYS[2], 'v',
        'fence', 'top', 'kept', 'open', 'wave', 'order')
    if marks and not marks.err and (marks[1] or '1') == '1'
            and (marks[5] or '0') == '0' and (marks[7] or '0') == ARGV[11]
            and (tonumber(marks[3]) or 0) < 9007199254740991
            and (tonumber(marks[2]) or 0) < 9007199254740991
            and (not joins or marks[2] and (tonumber(marks[6]) or -1) >= 0) then
        local time, ms = redis.call('TIME'), tonumber(ARGV[4])
        local us = time[1] * 1000000 + time[2]
        local now = math.floor(us / 1000)
        local fence = math.max(tonumber(marks[2]) or 0, tonumber(marks[3]) or 0)
        local life, kept = 7 * 86400000 + ms, tonumber(marks[4]) or 0
        local field = owner

        if how == 'w' then
            field = owner .. ':write'
            fence = math.max(fence + 1, us)
        elseif fence == 0 then
            fence = us
        end
        local reply = redis.pcall('HSET', lock, 'mode', how == 'w' and 'write'
            or 'read', field, '1')
        if type(reply) == 'table' then
            return reply
        end

        -- Does a command unless one before it has failed.
        local function go(...)
            if type(reply) ~= 'table' or reply.ok then
                reply = redis.pcall(...)
            end
            return reply
        end
        if not joins then
            go('PEXPIRE', lock, ms)
            go('DEL', KEYS[8])
        elseif go('PTTL', lock) and type(reply) == 'number' and reply < ms then
            go('PEXPIRE', lock, ms)
        end
        if how ~= 'w' then
            go('SET', KEYS[12], '1', 'PX', ms)
            go('HSET', KEYS[8], owner, string.format('%.0f 0 %s %.0f %.0f ',
                fence, how, now, ms) .. ARGV[6] .. ' ' .. ARGV[7])
            go('PEXPIRE', KEYS[8], life + 86400000)
        end
        if how == 'w' then
            go('HSET', KEYS[2], 'v', '1', 'kind', 'rw', 'fence', fence, 'top',
                fence, 'claim', owner, 'ticket', '0', 'since', now, 'lease', ms,
                'inbox', ARGV[6], 'reason', ARGV[7], 'wave', '-1')
        elseif not joins then
            go('HSET', KEYS[2], 'v', '1', 'kind', 'rw', 'fence', fence, 'wave',
                '0', how == 'u' and 'upgrader' or 'kind',
                how == 'u' and owner or 'rw')
        end
        if kept + 86400000 < now + life then
            go('PEXPIRE', KEYS[2], life)
            go('HSET', KEYS[2], 'kept', now + life)
        end
        if type(reply) ~= 'table' or reply.ok then
            return {1, fence, ms, fence}
        end

        if how ~= 'w' then
            redis.pcall('DEL', KEYS[12])
            redis.pcall('HDEL', KEYS[8], owner)
        end
        if joins or redis.pcall('DEL', lock) ~= 1 then
            redis.pcall('HDEL', lock, field, joins and field or 'mode')
        end
        if not marks[4] then
            redis.pcall('DEL', KEYS[2]) -- one without a TTL would stay
        end
        return reply
    end
end
