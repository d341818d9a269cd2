-- SPDX-License-Identifier: MIT
-- part_flight: what a flight has landed, and who computes it. Ends the script
-- with an error where the keys are not ours to touch.
-- Needs: part_error.
--
-- flight.leader  the claim that computes; nil: nobody does
-- flight.fields  {status, words, value, by} of what has landed; nil: nothing

local result, claim = KEYS[1], KEYS[2]
local flight = {}

do
    local leader = redis.pcall('GET', claim)
    local found = redis.pcall('HMGET', result, 'status', 'words', 'value',
        'by', 'v')
    for _, reply in ipairs({leader or {}, found}) do
        if failed(reply) and string.find(reply.err, 'WRONGTYPE', 1, true) then
            return redis.error_reply('LKTYPE the key is not a flight')
        elseif failed(reply) then
            return reply
        end
    end
    if found[5] and found[5] ~= '1' then
        return redis.error_reply('LKLAYOUT the name is in use by a release '
            .. 'with another layout of keys')
    end
    flight.leader = leader or nil
    flight.fields = found[1] and found or nil
end
