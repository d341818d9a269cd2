-- SPDX-License-Identifier: MIT
-- part_clock: the server's clock, the only one there is.

local clock = {}

-- Fills in clock.us and clock.ms. The first look counts.
function clock.look()
    if clock.us then
        return
    end
    local time = redis.call('TIME')
    clock.us = tonumber(time[1]) * 1000000 + tonumber(time[2])
    clock.ms = math.floor(clock.us / 1000)
end
