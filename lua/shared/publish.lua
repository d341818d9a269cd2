-- SPDX-License-Identifier: MIT
-- publish: telling a channel. One with a + before its name is sharded: in a
-- cluster it reaches the master and the replicas of its slot alone.

-- How many listened here, or an error.
local function publish(channel, text)
    if string.byte(channel) == 43 then
        return redis.pcall('SPUBLISH', string.sub(channel, 2), text)
    end
    return redis.pcall('PUBLISH', channel, text)
end
