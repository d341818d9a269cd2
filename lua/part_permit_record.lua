-- SPDX-License-Identifier: MIT
-- part_permit_record: how many permits there are. Ends the script with an error
-- where the keys are not ours to touch.
-- Needs: part_error.
--
-- record.free   permits that nobody has, of which there may be less than none;
--               nil: no number is set
-- record.taken  permits that somebody has, or had until their lease ended
-- record.kind, .fence, .open, .till, .kept  of the state hash
-- record.all    N as it was at the last grant, of the state hash; or nil
-- record.ends   no lease that was given ends later, by its score, unless it was
--               lengthened; of the state hash; nil: it is not known
--
-- Together free and taken are N. A counter that is gone makes a name of another
-- kind ours to set; a latch that is open has no counter either, and stays one.

local lock, state = KEYS[1], KEYS[2]
local zset, holders = KEYS[6], KEYS[8]
local record = {}

do
    local free = redis.pcall('GET', lock)
    local taken = redis.pcall('ZCARD', zset)
    local marks = redis.pcall('HMGET', state, 'v', 'kind', 'fence', 'open',
        'until', 'kept', 'n', 'ends')
    local bad = failed(free) or failed(taken) or failed(marks)
    if bad and string.find(bad.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the key is not a semaphore')
    elseif bad then
        return bad
    elseif free and not string.find(free, '^-?%d+$') then
        return redis.error_reply('LKTYPE the key is not a counter')
    elseif marks[1] and marks[1] ~= '1' then
        return redis.error_reply('LKLAYOUT the name is in use by a release '
            .. 'with another layout of keys')
    elseif marks[2] and marks[2] ~= 'leased'
            and (free or marks[2] ~= 'plain') then
        return redis.error_reply('LKTYPE the name is in use as another kind: '
            .. marks[2])
    end
    record.free = free and tonumber(free)
    record.taken = taken
    record.kind = marks[2]
    record.fence = tonumber(marks[3]) or 0
    record.open = tonumber(marks[4])
    record.till = tonumber(marks[5])
    record.kept = tonumber(marks[6])
    record.all = tonumber(marks[7])
    record.ends = tonumber(marks[8])
end
