-- SPDX-License-Identifier: MIT
-- ticket: the place in a band of the queue for a waiter that comes now.

-- The clock in steps of 16 us, behind the last of the band and above the floor;
-- first and behind are the scores between which the band lies. Returns the
-- ticket, its score as text, and whether the end of the queue has to be pushed
-- on: the last came in an earlier stretch of 134 s. Or nil and an error.
local function ticket(key, us, floor, first, behind)
    local last = redis.call('ZREVRANGEBYSCORE', key, '(' .. behind, first,
        'WITHSCORES', 'LIMIT', '0', '1')[2]
    local before = last and last - first or 0
    local number = math.max(math.floor(us / 16), before + 1, floor + 1)
    if number >= 281474976710656 then
        return nil, redis.error_reply('LKRANGE the name has no more tickets: '
            .. 'one was set to 2^48')
    end
    return number, string.format('%.0f', first + number),
        math.floor(number / 8388608) ~= math.floor(before / 8388608)
end
