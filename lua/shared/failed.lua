-- SPDX-License-Identifier: MIT
-- failed: telling errors from answers.

-- The error in a reply of redis.pcall, or nil.
local function failed(reply)
    return type(reply) == 'table' and reply.err and reply or nil
end
