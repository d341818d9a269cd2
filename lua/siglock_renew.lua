-- SPDX-License-Identifier: MIT
-- siglock_renew: lengthen the leases of many holds at once.
-- uses: part_error part_lease
--
-- KEYS  lock, void of each name in turn, as in siglock_acquire
-- ARGV  owner, of no use, lease in ms of each hold in turn
--
-- returns  {index, code, ...} of the holds that are lost, index from 1; codes
--              as in lock_renew
--
-- Invariants: a TTL is only lengthened, a key is never made. One name does
-- not keep another from being renewed, whatever its key holds. A full server
-- does not refuse it.

-- The code of a lost hold, or an error.
local function look(lock, void, owner)
    local holder = redis.pcall('GET', lock)
    if failed(holder) and not string.find(holder.err, 'WRONGTYPE', 1, true) then
        return nil, holder
    elseif holder ~= owner then
        return holder and 2 or 0
    end
    return type(redis.pcall('ZSCORE', void, owner)) == 'string' and 4 or nil
end

local lost = {}

for i = 1, #KEYS / 2 do
    local lock, void = KEYS[i * 2 - 1], KEYS[i * 2]
    local code, bad = look(lock, void, ARGV[i * 3 - 2])
    if not code and not bad then
        bad = failed(lease.lengthen(lock, tonumber(ARGV[i * 3])))
    end
    if bad then
        return bad
    elseif code then
        lost[#lost + 1] = i
        lost[#lost + 1] = code
    end
end
return lost
