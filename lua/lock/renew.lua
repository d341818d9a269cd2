-- SPDX-License-Identifier: MIT
-- renew: lengthen the leases of many holds, each by its own key alone.
--
-- code: 0 nobody holds, 2 another does.
--
-- Invariants: a TTL is only lengthened, a key is never made. One name does not
-- keep another from being renewed, whatever its key holds. A full server does
-- not refuse it.

local lost, knows_gt = {}, true

-- Makes a lock live for the lease at least. With GT, of Redis 7.0, it is one
-- command, but for one without an end and one that lives longer.
local function lengthen(key)
    local reply = knows_gt and redis.pcall('PEXPIRE', key, lease, 'GT')
    if reply == 1 then
        return nil
    elseif reply ~= 0 then
        knows_gt = false
    end
    local left = redis.call('PTTL', key)
    reply = left ~= -2 and left < tonumber(lease)
        and redis.pcall('PEXPIRE', key, lease)
    return type(reply) == 'table' and reply or nil
end

for i = 1, #KEYS do
    local held = redis.pcall('HEXISTS', KEYS[i], ARGV[first_of_claims + i - 1])
    if held == 1 then
        local bad = lengthen(KEYS[i])
        if bad then
            return bad
        end
    elseif held == 0 then
        lost[#lost + 1], lost[#lost + 2] = group.lost({index = i,
            code = redis.call('EXISTS', KEYS[i]) * 2})
    elseif string.find(held.err, 'WRONGTYPE', 1, true) then
        lost[#lost + 1], lost[#lost + 2] = group.lost({index = i, code = 2})
    else
        return held
    end
end
return {RENEWED, lost}
