-- SPDX-License-Identifier: MIT
-- clock: the server's clock, the only one there is, and how far a time that was
-- stored by it is believed.

local clock = {}

-- Fills in clock.us and clock.ms. The first look counts.
function clock.look()
    if not clock.us then
        local time = redis.call('TIME')
        clock.us = time[1] * 1000000 + time[2]
        clock.ms = math.floor(clock.us / 1000)
    end
end

-- Whether a time is no further from now than bound, before or after it: the
-- clock may have been set since.
function clock.is_near(ms, bound)
    return math.abs(clock.ms - ms) <= bound
end
