-- SPDX-License-Identifier: MIT
-- part_others: who stands in no queue of ours: Redisson's waiters, its fair
-- queue, and clients that spin.
-- Needs: part_error, record.traces or nil: keys that exist while others are
-- there, the arguments owner, channel, interop; and for tell part_pass' room.

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
    return counts[2] > 0
        or record.traces
        and redis.call('EXISTS', unpack(record.traces)) > 0
end

-- Tells them that there is room, in Redisson's way. Returns an error or nil.
function others.tell()
    local word = room.word()
    return word and failed(redis.pcall('PUBLISH', ARGV[2], word))
end
