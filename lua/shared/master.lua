-- SPDX-License-Identifier: MIT
-- master: a replica is not looked at. What it says is old, and it runs a script
-- that only reads like any other: a client that was connected when the server's
-- role changed would go by it.
-- needs: failed

-- A write to the hash that changes nothing, which a replica refuses before
-- anything else: returns the error, or nil. Where the user may not write, or the
-- key holds something else, it says nothing. A full server lets through what
-- follows.
local function master(key)
    local refused = failed(redis.pcall('HDEL', key, ''))
    if refused and string.find(refused.err, 'READONLY', 1, true) then
        return refused
    end
    return nil
end
