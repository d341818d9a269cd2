-- SPDX-License-Identifier: MIT
-- leave: a reader goes, others read on, and nobody comes in for that.
-- needs: audience inbox_of

local leave = {}

-- The hash is not made shorter by less than that; see share.
local NEAR_MS = 10
local SECOND_MS, PASS_MS, YOUNG_MS = 1000, 500, 3000

-- Whether the first of a queue is a writer that was heard of just now, and keeps out
-- all who read, the others as well: it is not their phase. strange: some who read
-- are not ours, and pass it at times.
function leave.is_kept_out(queue_at, order, wave, strange)
    if order ~= '0' or tonumber(wave) < 0 then
        return false
    end
    local first = redis.call('ZRANGEBYSCORE', queue_at, '0', '(562949953421312',
        'WITHSCORES', 'LIMIT', '0', '1')
    local to, mode, term, inbox = member.only(first[1] or '', claim, mode,
        lease, inbox)
    local ticket = (tonumber(first[2]) or 0) - 281474976710656
    if mode ~= 'w'
            or #term > 12
            or not string.find(to, ':%d+$')
            or redis.call('ZCOUNT', queue_at, '562949953421312',
                string.format('%.0f', 844424930131968 + wave)) > 0 then
        return false
    end
    local time = redis.call('TIME')
    local ms = time[1] * 1000 + math.floor(time[2] / 1000)
    local counts = audience({inbox_of(to, inbox, queue_at)})
    return not counts.err
        and counts[2] > 0
        and math.abs(ms - math.floor(ticket * 16 / 1000)) <= YOUNG_MS
        and not (strange and ms % SECOND_MS < PASS_MS)
end

-- Whether of one of these fields no grant is known: not ours.
function leave.has_strangers(grants)
    for i = 1, #grants do
        if not grants[i] then
            return true
        end
    end
    return false
end

-- Ends it, and has the hash end with the last of the others' leases. Returns an
-- error, and then nothing has changed, or nil.
function leave.go(lock, holders, claim, keys)
    local all = redis.call('PTTL', lock)
    local reply = redis.pcall('HDEL', lock, claim)
    if type(reply) == 'table' then
        return reply
    end
    redis.pcall('DEL', keys[1])
    redis.pcall('HDEL', holders, claim)
    local longest = 0
    for i = #keys, 2, -1 do
        local left = redis.pcall('PTTL', keys[i])
        if type(left) == 'table' or left == -1 or left + NEAR_MS >= all then
            return nil
        end
        longest = math.max(longest, left)
    end
    if longest > 0 then
        redis.pcall('PEXPIRE', lock, longest)
    end
    return nil
end
