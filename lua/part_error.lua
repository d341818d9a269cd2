-- SPDX-License-Identifier: MIT
-- part_error: telling errors from answers; and the error of a number that has
-- come to its end.

-- The error in a reply of redis.pcall, or nil.
local function failed(reply)
    if type(reply) == 'table' and reply.err then
        return reply
    end
    return nil
end

-- An error if this number is beyond those that can be told apart, 2^53 - 1; or
-- nil. Fences, tickets, generations and versions follow the server's clock in
-- microseconds, which comes there in the year 2255: one that is there was set.
-- As far as that they may be ahead of a clock that was set back.
local function beyond(number, what)
    if number > 9007199254740991 then
        return redis.error_reply('LKRANGE the name has no more ' .. what
            .. ': one was set to 2^53')
    end
    return nil
end
