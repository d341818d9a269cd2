-- SPDX-License-Identifier: MIT
-- vacate: the last hold of a name ends.

-- Takes away the hash, and then what was kept of those in it. Returns an error, and
-- then nothing has changed, or nil.
local function vacate(lock, timeout, holders)
    local reply = redis.pcall('DEL', lock)
    if type(reply) == 'table' then
        return reply
    end
    redis.pcall('DEL', timeout, holders)
    return nil
end
