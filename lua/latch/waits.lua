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

-- So many are listed, so many are read at a time, and at the most.
local LISTED, MOST = 64, 1024

-- Adds those who live of 64 to the entries; returns how many were read, and how
-- many of them live.
local function read_some(key, first, behind, from, entries)
    local found = redis.call('ZRANGEBYSCORE', key, first, behind, 'WITHSCORES',
        'LIMIT', queue.text(from), LISTED)
    local uuids, living = {}, 0
    for i = 1, #found, 2 do
        uuids[#uuids + 1] = string.match(found[i], '^([^ ]*):') or ''
    end
    local marks = #uuids > 0 and redis.call('ZMSCORE', key, unpack(uuids)) or {}
    for i = 1, #found, 2 do
        local it, mark = queue.entry(found[i], found[i + 1]), marks[(i + 1) / 2]
        if it and (mark and clock.is_near(-mark, HEARD)
                or clock.is_near(queue.time_of(it.ticket), HEARD)) then
            living = living + 1
            if #entries < LISTED then
                entries[#entries + 1] = it
            end
        end
    end
    return #uuids, living
end

-- How many wait, and the first 64 of them, as entries. The dead among the first
-- 1024 do not wait; whoever is behind those does. Ends the script where the key is
-- no queue.
function waits.all(key)
    local first, behind = queue.score(1, 0), '(' .. queue.score(queue.VOID, 0)
    local all = redis.call('ZCOUNT', key, first, behind)
    local number, from, entries = all, 0, {}
    while from < all and from < MOST do
        local some, living = read_some(key, first, behind, from, entries)
        number, from = number - some + living, from + some
    end
    return number, entries
end
