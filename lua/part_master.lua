-- SPDX-License-Identifier: MIT
-- part_master: a replica is not looked at. What it says is old, and it runs a
-- script that only reads like any other: a client that was connected when the
-- server's role changed would go by it. The greeting looks at the role once,
-- and an idle connection's PING would say nothing of it.
-- Needs: part_error.

-- A write that changes nothing, which a replica refuses before anything else:
-- returns the error, or nil. Where the user may not write, or the key holds
-- something else, it says nothing. A full server lets through what follows, so
-- a script that it is to refuse calls this last.
local function replica_refuses()
    local refused = failed(redis.pcall('HDEL', KEYS[2], ''))
    if refused and string.find(refused.err, 'READONLY', 1, true) then
        return refused
    end
    return nil
end
