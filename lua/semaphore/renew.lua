-- SPDX-License-Identifier: MIT
-- renew: lengthen the leases of many holds, each by its own key alone.
--
-- code: 5 it does not hold all that it had, unless the zset is gone, or the zset ends
-- before the lease: only keep can tell.
--
-- Invariants: a lease is only lengthened, a permit is never made. One name does
-- not keep another from being renewed, whatever its key holds. A full server does
-- not refuse it.
-- needs: clock failed permits

local lost = {}

clock.look()
local ms = interop == '1' and lease + permits.SKEW or tonumber(lease)
local score = string.format('%.0f', clock.ms + ms)

-- Returns an error; or nil, and whether all of a hold's permits are there for the whole
-- lease. The zset may end with the counter, whatever its scores say.
local function lengthen(key, need, claim)
    local ids = permits.ids(claim, need)
    local scores = redis.pcall('ZMSCORE', key, unpack(ids))
    if failed(scores) then
        return not string.find(scores.err, 'WRONGTYPE', 1, true) and scores
            or nil, false
    end
    local members = {}
    for i = 1, #ids do
        if not scores[i] then
            return nil, false
        end
        members[i * 2 - 1], members[i * 2] = score, ids[i]
    end
    local ends = redis.call('PTTL', key)
    -- Changes nothing; a full server lets through what follows.
    return failed(redis.pcall('ZREM', key, ''))
        or failed(redis.pcall('ZADD', key, 'XX', 'GT', unpack(members))),
        ends < 0 or ends >= tonumber(lease)
end

for i = 1, #KEYS do
    local one = share.read(ARGV[first_of_shares + i - 1])
    local bad, holds = lengthen(KEYS[i], tonumber(one.need), one.claim)
    if bad then
        return bad
    elseif not holds then
        lost[#lost + 1], lost[#lost + 2] = group.lost({index = i, code = 5})
    end
end
return {RENEWED, lost}
