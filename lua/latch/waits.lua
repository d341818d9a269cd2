-- SPDX-License-Identifier: MIT
-- waits: who waits for a latch, for those who look. A wait takes nothing and has
-- no place in line, so nothing depends on these entries: where they cannot be
-- written the wait goes on all the same.
-- needs: failed clock queue sweep

local waits = {}

-- For so long one that was not heard of is believed to wait.
local HEARD = 10000

-- Lists a member, and a client that was heard of: uuid, or nil.
function waits.note(key, own, uuid)
    local score = queue.score(1, math.floor(clock.us / 16))
    local bad = failed(redis.pcall('ZADD', key, 'NX', score, own))
    if not bad and uuid then
        bad = failed(redis.pcall('ZADD', key, queue.text(-clock.ms), uuid))
    end
    if bad or failed(redis.pcall('PEXPIRE', key, queue.LIFE)) then
        redis.pcall('ZREM', key, own, uuid or '')
    elseif uuid and clock.ms % 16 == 0 then
        local is_good, gone = pcall(sweep.find, key, 1)
        if is_good and #gone > 0 then
            redis.pcall('ZREM', key, unpack(gone))
        end
    end
end

-- How many wait, and the first 64 of them, as entries. Ends the script where the
-- key is no queue.
function waits.all(key)
    local first, behind = queue.score(1, 0), '(' .. queue.score(queue.VOID, 0)
    local found = redis.call('ZRANGEBYSCORE', key, first, behind, 'WITHSCORES',
        'LIMIT', '0', '64')
    if #found == 0 then
        return 0, {}
    end
    local uuids, entries = {}, {}
    for i = 1, #found, 2 do
        uuids[#uuids + 1] = string.match(found[i], '^([^ ]*):') or ''
    end
    local marks = redis.call('ZMSCORE', key, unpack(uuids))
    local number = redis.call('ZCOUNT', key, first, behind)
    for i = 1, #found, 2 do
        local it, mark = queue.entry(found[i], found[i + 1]), marks[(i + 1) / 2]
        if it and (mark and clock.is_near(-mark, HEARD)
                or clock.is_near(queue.time_of(it.ticket), HEARD)) then
            entries[#entries + 1] = it
        else
            number = number - 1
        end
    end
    return number, entries
end
