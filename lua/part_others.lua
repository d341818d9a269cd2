-- SPDX-License-Identifier: MIT
-- part_others: who stands in no queue of ours: Redisson's waiters, its fair
-- queue, and clients that spin.
-- Needs: part_error, and the arguments owner, channel, interop.

local others = {}

-- True if there are any, false if not, nil and an error if the server would
-- not say.
function others.are_there()
    if ARGV[3] == '1' then
        return true
    end
    local counts = redis.pcall('PUBSUB', 'NUMSUB', ARGV[2])
    if failed(counts) then
        return nil, counts
    end
    return counts[2] > 0 or redis.call('EXISTS', KEYS[8], KEYS[9]) > 0
end

-- Tells them that the name is free, in Redisson's way. Returns an error or nil.
function others.tell()
    local bad = failed(redis.pcall('PUBLISH', ARGV[2], '0'))
    local head = redis.pcall('LINDEX', KEYS[8], 0)
    if type(head) == 'string' then
        bad = failed(redis.pcall('PUBLISH', ARGV[2] .. ':' .. head, '0'))
            or bad
    end
    return bad
end
