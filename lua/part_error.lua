-- SPDX-License-Identifier: MIT
-- part_error: telling errors from answers.

-- The error in a reply of redis.pcall, or nil.
local function failed(reply)
    if type(reply) == 'table' and reply.err then
        return reply
    end
    return nil
end
