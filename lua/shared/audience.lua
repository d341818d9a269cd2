-- SPDX-License-Identifier: MIT
-- audience: who listens to channels, named as for publish.

-- Answers as PUBSUB NUMSUB does: of each channel its name and how many listen here.
local function audience(channels)
    local shards, others = {}, {}
    for i = 1, #channels do
        local channel = channels[i]
        if string.byte(channel) == 43 then
            shards[#shards + 1] = string.sub(channel, 2)
        else
            others[#others + 1] = channel
        end
    end
    if #shards == 0 then
        return redis.pcall('PUBSUB', 'NUMSUB', unpack(others))
    end
    local near = redis.pcall('PUBSUB', 'SHARDNUMSUB', unpack(shards))
    local far = #others > 0 and redis.pcall('PUBSUB', 'NUMSUB', unpack(others))
        or {}
    if near.err or far.err then
        return near.err and near or far
    end
    local counts, at = {}, {[near] = 0, [far] = 0}
    for i = 1, #channels do
        local of = string.byte(channels[i]) == 43 and near or far
        at[of] = at[of] + 2
        counts[i * 2 - 1], counts[i * 2] = channels[i], of[at[of]]
    end
    return counts
end
