-- SPDX-License-Identifier: MIT
-- part_quick_pass: a lock for which ours alone wait goes to the first of them
-- in few commands, if that one can be reached. Comes after part_quick_free, and
-- as that one it leaves whatever is not quite plain to the script: others that
-- wait or were met, or may be met after so many hand-overs, Redisson's counter,
-- an open turn, a waiter that was not heard of, a record that cannot be read.
--
-- It leaves, says and answers what part_pass does, refusals in the middle
-- included: then the waiter is in its place again and looks for itself.

do
    local lock, state, queue, tickets = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

    local function denies(reply)
        return type(reply) == 'table'
    end

    -- Makes the name the waiter's and tells it; true if something was denied.
    local function grant(claim, entry, range)
        return denies(redis.pcall('HSET', lock, claim, '1'))
            or denies(redis.pcall('PEXPIRE', lock, range.ms))
            or denies(redis.pcall('HSET', state, 'fence', range.fence,
                'top', range.top, 'claim', claim, 'ticket', entry.ticket,
                'since', range.now, 'lease', entry.lease,
                'inbox', entry.inbox, 'reason', entry.reason,
                'run', range.run))
            or denies(redis.pcall('ZREM', queue, claim))
            or denies(redis.pcall('HDEL', tickets, claim))
            or denies(redis.pcall('PUBLISH', entry.inbox, string.format(
                'grant lock %s %s %.0f %.0f %.0f ', claim, entry.ticket,
                range.fence, range.top, range.ms) .. lock))
    end

    -- The name is free, and the waiter waits as before; both sides are told.
    local function undo(claim, entry)
        if redis.pcall('DEL', lock) ~= 1 then
            redis.pcall('HDEL', lock, claim)
        end
        redis.pcall('ZADD', queue, entry.ticket, claim)
        redis.pcall('HSET', tickets, claim, entry.packed)
        redis.pcall('PEXPIRE', queue, 60000)
        redis.pcall('PEXPIRE', tickets, 60000)
        redis.pcall('PUBLISH', entry.inbox, string.format(
            'open lock %s %s ', claim, entry.ticket) .. lock)
        redis.pcall('PUBLISH', ARGV[2], '0')
    end

    -- The first waiter and what it asks for; nil: not plain.
    local function first()
        local claim = ARGV[3] ~= '1'
            and redis.pcall('EXISTS', KEYS[6], KEYS[8], KEYS[9]) == 0
            and redis.pcall('ZRANGE', queue, 0, 0)[1]
        local packed = claim and redis.pcall('HGET', tickets, claim)
        if type(packed) ~= 'string' then
            return nil
        end
        local ticket, ms, seen, inbox, reason = string.match(packed,
            '^(%d+) x %d+ (%d+) (%d+) %d+ (%S*) (.*)$')
        return ticket and claim, {ticket = ticket, lease = tonumber(ms),
            seen = tonumber(seen), inbox = inbox, reason = reason,
            packed = packed}
    end

    local claim, entry = first()
    local counts = claim
        and redis.pcall('PUBSUB', 'NUMSUB', ARGV[2], entry.inbox)
    local marks = claim and counts[2] == 0 and counts[4] > 0 and redis.pcall(
        'HMGET', state, 'v', 'claim', 'fence', 'top', 'kept', 'open',
        'met', 'ticket', 'run')
    if marks and marks[1] == '1' and marks[2] == ARGV[1]
            and marks[3] == ARGV[4] and marks[6] == '0'
            and tonumber(marks[3]) < 9007199254740991
            and (tonumber(marks[4]) or 0) < 9007199254740991
            and redis.pcall('HGET', lock, ARGV[1]) == '1' then
        local time = redis.call('TIME')
        local us = time[1] * 1000000 + time[2]
        local now = math.floor(us / 1000)
        local kept, run = tonumber(marks[5]) or 0, tonumber(marks[9]) or now
        if marks[8] == '0' or run > now then
            run = now
        end
        if now - run < 1000 and math.abs(now - entry.seen) <= 3000
                and math.abs(now - (tonumber(marks[7]) or 0)) >= 10000
                and kept + 86400000 >= now + 7 * 86400000 + entry.lease then
            local fence = math.max(tonumber(marks[3]) + 1,
                (tonumber(marks[4]) or 0) + 1, us)
            local range = {fence = fence, now = now, run = run,
                top = math.max(fence, math.min(fence + 63, us + 100000)),
                ms = math.min(entry.lease, 3000)}
            local reply = redis.pcall('DEL', lock)
            if reply ~= 1 then
                return reply
            end
            if grant(claim, entry, range) then
                undo(claim, entry)
                return {1, 0, 1}
            end
            return {1, 0, 0}
        end
    end
end
