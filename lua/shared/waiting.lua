-- SPDX-License-Identifier: MIT
-- waiting: who waits in a queue, for those who look.
-- needs: add clock queue silent

local waiting = {}

-- So many are listed, so many are read at a time, and at most.
local LISTED = 64
local MOST = 1024

-- How many wait of one score and those before another, and the first 64 of them,
-- as entries. The silent among the first 1024 do not wait; whoever is behind those
-- does. Ends the script where the key is no queue.
function waiting.between(key, first, behind)
    local all = redis.call('ZCOUNT', key, first, behind)
    local number, from, entries = all, 0, {}
    while from < all and from < MOST do
        local found = redis.call('ZRANGEBYSCORE', key, first, behind,
            'WITHSCORES', 'LIMIT', queue.text(from), LISTED)
        local are_silent = silent.among(key, found)
        for i = 1, #are_silent do
            if are_silent[i] then
                number = number - 1
            elseif #entries < LISTED then
                entries[#entries + 1] = queue.entry(found[i * 2 - 1],
                    found[i * 2])
            end
        end
        from = from + LISTED
    end
    return number, entries
end

-- The same of all who wait.
function waiting.all(key)
    return waiting.between(key, '0', '(' .. queue.score(queue.VOID, 0))
end

-- What see tells of an entry, added to a list.
function waiting.tell(list, it, mode)
    add(list, group.waiter({claim = it.claim, need = tonumber(it.need),
        ticket = it.ticket,
        waited = math.max(clock.ms - queue.time_of(it.ticket), 0),
        reason = it.reason, mode = mode}))
end
