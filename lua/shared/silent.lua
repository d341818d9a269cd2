-- SPDX-License-Identifier: MIT
-- silent: who in a queue was not heard of for 13 s, before or after now. Whoever
-- comes across them takes them out, so whoever only looks leaves them out.
-- needs: clock queue

local silent = {}

local BOUND = 13000

-- Of members and scores in turn: whether each is silent. Nobody is while the
-- clock was last seen to jump within that time.
function silent.among(key, found)
    local uuids, are = {'gap'}, {}
    for i = 1, #found, 2 do
        uuids[#uuids + 1] = string.match(found[i], '^([^ ]*):') or ''
    end
    local marks = #found > 0 and redis.call('ZMSCORE', key, unpack(uuids))
        or {}
    for i = 1, #found, 2 do
        local _, ticket = queue.parts(tonumber(found[i + 1]))
        local mark = marks[(i + 3) / 2]
        are[#are + 1] = not clock.is_near(queue.time_of(ticket), BOUND)
            and not (mark and clock.is_near(-mark, BOUND))
            and not (marks[1] and clock.is_near(-marks[1], BOUND))
    end
    return are
end
