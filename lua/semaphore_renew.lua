-- SPDX-License-Identifier: MIT
-- semaphore_renew: lengthen the leases of many holds at once.
-- uses: part_error part_clock part_permit_ids
--
-- KEYS  permits, holders, void of each name in turn, as in semaphore_acquire
-- ARGV  owner, fence, lease in ms of each hold in turn
--
-- returns  {index, code, ...} of the holds that are lost, index from 1; codes
--              as in lock_renew
--
-- Invariants: a lease is only lengthened, a permit is never made. One name does
-- not keep another from being renewed, whatever its keys hold. A full server
-- does not refuse it.

local lost = {}

clock.look()
for i = 1, #KEYS / 3 do
    local zset, holders, void = unpack(KEYS, i * 3 - 2, i * 3)
    local own, bad = permit.look(zset, holders, ARGV[i * 3 - 2])
    local code = nil
    if not own or not own.till then
        code = 0
    elseif own.fence ~= tonumber(ARGV[i * 3 - 1]) then
        code = 3
    elseif type(redis.pcall('ZSCORE', void, own.claim)) == 'string' then
        code = 4
    else
        bad = failed(permit.lengthen(zset, holders, own,
            tonumber(ARGV[i * 3])))
    end
    if bad and not string.find(bad.err, 'WRONGTYPE', 1, true) then
        return bad
    elseif code then
        lost[#lost + 1] = i
        lost[#lost + 1] = code
    end
end
return lost
