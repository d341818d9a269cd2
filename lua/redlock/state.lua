-- SPDX-License-Identifier: MIT
-- state: what a name has.
-- needs: failed

-- 0 nothing, 1 the token, 2 something else. Or nil and an error.
local function state(key, token)
    local own = redis.pcall('GET', key)
    if failed(own) and not string.find(own.err, 'WRONGTYPE', 1, true) then
        return nil, own
    end
    return own == token and 1 or own and 2 or 0
end
