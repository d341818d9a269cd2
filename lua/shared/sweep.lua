-- SPDX-License-Identifier: MIT
-- sweep: takes out of a queue what nobody comes back for, faster than it comes:
-- those parked that are silent, claims void for longer than any
-- request may be late, and marks of clients that are gone.
-- needs: clock queue silent

local sweep = {}

local MARK, VOID = 60000, 660000

-- Adds to gone those of 64 that are silent. band: from which on; the
-- clock chooses among them. nil: the first that are parked.
local function find_silent(key, band, gone)
    local first = queue.score(band or queue.PARKED, 0)
    local last, from = '(' .. queue.score(queue.VOID, 0), 0
    if band then
        from = clock.us % math.max(redis.call('ZCOUNT', key, first, last) - 63, 1)
    end
    local found = redis.call('ZRANGEBYSCORE', key, first, last, 'WITHSCORES',
        'LIMIT', queue.text(from), '64')
    local are_silent = silent.among(key, found)
    for i = 1, #are_silent do
        if are_silent[i] then
            gone[#gone + 1] = found[i * 2 - 1]
        end
    end
end

local function find_marks(key, first, last, gone)
    local found = redis.call('ZRANGEBYSCORE', key, first, last, 'LIMIT', '0',
        '32')
    for i = 1, #found do
        if found[i] ~= 'gap' and found[i] ~= 'gap0' then
            gone[#gone + 1] = found[i]
        end
    end
end

-- What is to go; reads only. band: as in find_silent.
function sweep.find(key, band)
    local gone = redis.call('ZRANGEBYSCORE', key, queue.score(queue.VOID, 0),
        queue.score(queue.VOID, math.max(0,
            math.floor((clock.us - VOID * 1000) / 16))), 'LIMIT', '0', '32')
    find_silent(key, band, gone)
    find_marks(key, '(' .. queue.text(MARK - clock.ms), '(0', gone)
    find_marks(key, '-inf', '(' .. queue.text(-clock.ms - MARK), gone)
    return gone
end
