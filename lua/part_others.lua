-- SPDX-License-Identifier: MIT
-- part_others: whether somebody of Redisson's waits. It is in no queue of ours.
-- Needs: part_error, the arguments channel and interop.

local others = {}

-- Whether somebody of Redisson's waits and listens; nil and an error if the
-- server would not say.
function others.do_listen()
    local counts = redis.pcall('PUBSUB', 'NUMSUB', ARGV[2])
    if failed(counts) then
        return nil, counts
    end
    return counts[2] > 0
end

-- True if there are any, false if not, nil and an error if the server would
-- not say.
function others.are_there()
    if ARGV[3] == '1' then
        return true
    end
    return others.do_listen()
end
