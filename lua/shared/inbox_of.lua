-- SPDX-License-Identifier: MIT
-- inbox_of: the channel of a claim's client, by the inbox of its member: one for
-- all that a client has to do with the server; or, with a + before it, the sharded
-- one of this name, whose queue's key is given.
--
-- Where no queue is given it is the first: a holder may hear that alone.

local function inbox_of(claim, inbox, queue_at)
    if queue_at and string.byte(inbox) == 115 then
        return '+' .. string.sub(queue_at, 1, -3) .. form.inbox_here .. ':'
            .. string.match(claim, '^(.*):')
    end
    return form.inbox .. string.sub(inbox, 2) .. ':'
        .. string.match(claim, '^(.*):')
end
