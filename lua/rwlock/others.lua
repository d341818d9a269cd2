-- SPDX-License-Identifier: MIT
-- others: who reads beside a claim, where they are few and all alive.

local MOST_FIELDS = 33

-- The other fields, and the keys of their leases behind the own one; or nil: they
-- are not all readers with one hold each, or one of them is dead. holds: the claim
-- is to live as well.
local function others(lock, claim, timeout, holds)
    local size = redis.pcall('HLEN', lock)
    local all = type(size) == 'number' and size <= MOST_FIELDS
        and redis.pcall('HGETALL', lock) or {}
    local before = string.sub(timeout, 1, -#claim - #form.timeout - 2)
    local fields, keys = {}, {timeout}
    for i = 1, #all, 2 do
        local field = all[i]
        if field ~= 'mode' and field ~= claim then
            if all[i + 1] ~= '1' then
                return nil
            end
            fields[#fields + 1] = field
            keys[#keys + 1] = before .. field .. form.timeout .. '1'
        end
    end
    local leases = redis.pcall('MGET', unpack(keys))
    for i = holds and 1 or 2, #keys do
        if not leases[i] then
            return nil
        end
    end
    return #fields > 0 and fields or nil, keys
end
