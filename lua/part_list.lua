-- SPDX-License-Identifier: MIT
-- part_list: who waits, for operators.
-- Needs: part_line, and that part_clock's clock was looked at.

local list = {}

-- How many wait.
function list.length()
    local count = redis.call('ZCARD', queue)
    for _, other in pairs(line.lanes) do
        count = count + redis.call('ZCARD', other)
    end
    return count
end

-- The first 64 waiters of each lane, in one flat list: claim, need, ticket,
-- waited ms, reason, kind.
function list.waiters()
    local waiters, lanes = {}, {queue}
    for _, other in pairs(line.lanes) do
        lanes[#lanes + 1] = other
    end
    for i = 1, #lanes do
        local claims = redis.call('ZRANGE', lanes[i], 0, 63)
        for j = 1, #claims do
            local entry = line.find(claims[j])
            local party = entry and {claims[j], entry.need, entry.ticket,
                math.max(clock.ms - entry.since, 0), entry.reason, entry.kind}
            for k = 1, party and #party or 0 do
                waiters[#waiters + 1] = party[k]
            end
        end
    end
    return waiters
end
