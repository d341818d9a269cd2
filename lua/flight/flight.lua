-- SPDX-License-Identifier: MIT
-- flight: what has landed, and who computes it.
--
-- flight.leader  the claim that computes; nil: nobody does
-- flight.fields  {status, words, value, by} of what has landed; nil: nothing
-- needs: failed

local flight = {}

-- Reads them. Returns an error or nil: then the keys are ours to use.
function flight.look(result, claim)
    local leader = redis.pcall('GET', claim)
    local found = redis.pcall('HMGET', result, 'status', 'words', 'value',
        'by', 'v')
    local bad = failed(leader) or failed(found)
    if bad and string.find(bad.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the key is not a flight')
    elseif bad then
        return bad
    elseif found[5] and found[5] ~= '1' then
        return redis.error_reply('LKLAYOUT the name is in use by a release '
            .. 'with another layout of keys')
    end
    flight.leader = leader or nil
    flight.fields = found[1] and found or nil
    return nil
end
