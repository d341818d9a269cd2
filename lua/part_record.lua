-- SPDX-License-Identifier: MIT
-- part_record: who holds the name, and the record of the last grant. Ends the
-- script with an error where the keys are not ours to touch.
--
-- record.fields  the lock hash, flat
-- record.holder  a field of it; nil: the name is free
-- record.mine    true if the claim ARGV[1] is in it
-- record.claim, .fence, .ticket, .open, .till, .kept, .came, .revoked, .met,
--        .alone, .run  of the state hash
-- record.kind    what the name was before, if that was no lock
-- record.sees    'all': record.theirs can be told
-- record.theirs  true if somebody holds the name by no grant of ours
-- record.traces  keys that exist while others are there: the mark of who spins
-- record.fairq   the key of Redisson's fair queue
-- record.top     of it, too: a number, 0 at least and the fence at least
--
-- The hash is the truth. The record says something of the holder only where
-- record.claim is in the hash; otherwise somebody else gave or took the name
-- since, and only the fences and the turn still count.

local lock, state = KEYS[1], KEYS[2]
local record = {traces = {KEYS[9]}, fairq = KEYS[8], sees = 'all'}

do
    local fields = redis.pcall('HGETALL', lock)
    if fields.err and string.find(fields.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the key is not a lock')
    elseif fields.err then
        return fields
    end
    for i = 1, #fields, 2 do
        if fields[i] == 'mode' then
            return redis.error_reply('LKTYPE the key is a read-write lock')
        elseif not string.find(fields[i], ':%d+$')
                or not string.find(fields[i + 1], '^%d+$') then
            return redis.error_reply('LKTYPE the key is not a lock')
        elseif fields[i] == ARGV[1] then
            record.mine = true
        end
        record.holder = record.mine and ARGV[1] or fields[i]
    end
    record.fields = fields

    local marks = redis.pcall('HMGET', state, 'v', 'claim', 'fence', 'ticket',
        'open', 'until', 'kept', 'top', 'came', 'revoked', 'kind', 'met',
        'alone', 'run')
    if marks.err and string.find(marks.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the state key is not a hash')
    elseif marks.err then
        return marks
    elseif marks[1] and marks[1] ~= '1' then
        return redis.error_reply('LKLAYOUT the name is in use by a release '
            .. 'with another layout of keys')
    end
    record.claim, record.fence, record.ticket = marks[2], marks[3], marks[4]
    record.theirs = record.holder and record.holder ~= record.claim
    record.open = tonumber(marks[5])
    record.till = tonumber(marks[6])
    record.kept = tonumber(marks[7])
    record.came = tonumber(marks[9])
    record.revoked = marks[10]
    record.kind = marks[11]
    record.met = tonumber(marks[12])
    record.alone = tonumber(marks[13])
    record.run = tonumber(marks[14])
    record.top = math.max(tonumber(marks[3]) or 0, tonumber(marks[8]) or 0)
end
