-- SPDX-License-Identifier: MIT
-- renew: lengthen the leases of many holds at once.
--
-- index: of a claim that is lost, from 1. code: 0 nobody holds, 2 another does, 4
-- it was revoked.
--
-- Invariants: a TTL is only lengthened, a key is never made. One name does not
-- keep another from being renewed, whatever its key holds. A full server does
-- not refuse it.
-- needs: failed lengthen void

-- Why a hold is lost; nil: it is not. Or nil and an error.
local function look(lock, voids, claim)
    local holder = redis.pcall('GET', lock)
    if failed(holder) and not string.find(holder.err, 'WRONGTYPE', 1, true) then
        return nil, holder
    elseif holder ~= claim then
        return holder and 2 or 0
    end
    return void.has(voids, claim) and 4 or nil
end

local lost = {}

for i = 1, #KEYS / 2 do
    local lock, voids = KEYS[i * 2 - 1], KEYS[i * 2]
    local code, bad = look(lock, voids, ARGV[first_of_claims + i - 1])
    if code then
        lost[#lost + 1] = i
        lost[#lost + 1] = code
    elseif not bad then
        bad = failed(lengthen(lock, tonumber(lease)))
    end
    if bad then
        return bad
    end
end
return {RENEWED, lost}
