-- SPDX-License-Identifier: MIT
--
-- Lengthens the holds of one client, each by its own key alone.
--
-- KEYS    N of each
-- ARGV    lease in ms, GT (empty before Redis 7.0, which lacks it), the claim of each
-- returns 0, or the places of the names that are lost, counted from 1
--
-- Only an end that is nearer moves. Each name meets a write that a replica refuses; its
-- error is the script's, which moves no bound and is no loss. A name of another type is
-- lost alone.
local call, lease, way, lost = redis.call, ARGV[1], ARGV[2], {}
for i = 1, #KEYS do
    if redis.pcall('HGET', KEYS[i], ARGV[i + 2]) ~= '1' then
        local refused = redis.pcall('HDEL', KEYS[i], '')
        if refused ~= 0 and not string.find(refused.err, 'WRONGTYPE') then
            return refused
        end
        lost[#lost + 1] = i
    elseif way ~= '' then
        call('PEXPIRE', KEYS[i], lease, way)
    elseif call('PTTL', KEYS[i]) < tonumber(lease) then
        call('PEXPIRE', KEYS[i], lease)
    else
        call('HDEL', KEYS[i], '')
    end
end
return #lost > 0 and lost or 0
