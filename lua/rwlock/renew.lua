-- SPDX-License-Identifier: MIT
-- renew: lengthen the leases of many holds, each by one key alone: a lock's with
-- its claim, or with `-` the timeout key of a claim.
--
-- code: 0 nobody holds, 2 another does. Of a hold that has both keys, both have
-- to be found.
--
-- Invariants: a TTL is only lengthened, a key is never made. One name does not
-- keep another from being renewed, whatever its key holds. A full server does
-- not refuse it.

local lost, knows_gt = {}, true

-- Makes a key live for the lease at least. With GT, of Redis 7.0, it is one
-- command, but for one without an end and one that lives longer. Returns whether
-- it is there, or an error.
local function lengthen(key)
    local reply = knows_gt and redis.pcall('PEXPIRE', key, lease, 'GT')
    if reply == 1 then
        return true
    elseif reply ~= 0 then
        knows_gt = false
    end
    local left = redis.call('PTTL', key)
    reply = left ~= -2 and left < tonumber(lease)
        and redis.pcall('PEXPIRE', key, lease)
    return type(reply) == 'table' and reply or left ~= -2
end

local function lose(index, code)
    lost[#lost + 1], lost[#lost + 2] = group.lost({index = index, code = code})
end

for i = 1, #KEYS do
    local claim = ARGV[first_of_claims + i - 1]
    local held = claim == '-' and {true}
        or redis.pcall('HMGET', KEYS[i], claim, claim .. ':write', 'mode')
    if held.err and string.find(held.err, 'WRONGTYPE', 1, true) then
        lose(i, 2)
    elseif held.err then
        return held
    elseif not held[1] and not held[2] then
        lose(i, held[3] == 'write' and 2 or 0)
    else
        local there = lengthen(KEYS[i])
        if type(there) == 'table' then
            return there
        elseif not there then
            lose(i, 0)
        end
    end
end
return {RENEWED, lost}
