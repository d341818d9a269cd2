-- SPDX-License-Identifier: MIT
-- inbox_of: the channel of a claim's client, by the inbox of its member.

local function inbox_of(claim, inbox)
    return 'latchkey:in:' .. string.sub(inbox, 2) .. ':'
        .. string.match(claim, '^(.*):')
end
