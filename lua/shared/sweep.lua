-- SPDX-License-Identifier: MIT
-- sweep: takes out of a queue what nobody comes back for, faster than it comes:
-- those parked that were not heard of for 13 s, claims void for longer than any
-- request may be late, and marks of clients that are gone.
-- needs: clock queue

local sweep = {}

local SILENT, MARK, VOID = 13000, 60000, 660000

-- Adds to gone those of 64 whose last sign is far away. band: from which on; the
-- clock chooses among them. nil: the first that are parked.
local function find_silent(key, band, gone)
    local first = queue.score(band or queue.PARKED, 0)
    local last, from = '(' .. queue.score(queue.VOID, 0), 0
    if band then
        from = clock.us % math.max(redis.call('ZCOUNT', key, first, last) - 63, 1)
    end
    local found = redis.call('ZRANGEBYSCORE', key, first, last, 'WITHSCORES',
        'LIMIT', queue.text(from), '64')
    local uuids = {'gap'}
    for i = 1, #found, 2 do
        uuids[#uuids + 1] = string.match(found[i], '^([^ ]*):') or ''
    end
    local marks = #found > 0 and redis.call('ZMSCORE', key, unpack(uuids))
        or {}
    for i = 1, #found, 2 do
        local _, ticket = queue.parts(tonumber(found[i + 1]))
        local mark = marks[(i + 3) / 2]
        if not clock.is_near(queue.time_of(ticket), SILENT)
                and not (mark and clock.is_near(-mark, SILENT))
                and not (marks[1] and clock.is_near(-marks[1], SILENT)) then
            gone[#gone + 1] = found[i]
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
