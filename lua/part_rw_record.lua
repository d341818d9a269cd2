-- SPDX-License-Identifier: MIT
-- part_rw_record: how the name is held, what ARGV[1] has of it, and the record
-- of the last writer. Ends the script with an error where the keys are not
-- ours to touch.
--
-- record.mode    'read' or 'write' as the hash says, which may have none but
--                dead readers in it; nil: there is no hash
-- record.lapsed  the last writer, if its lease ran out while the hash is there
--                for a read beside it; the mode is then 'read', whatever the
--                hash says
-- record.writes  true if the claim is the writer
-- record.reads   true if it is a reader whose lease has not run out
-- record.claim, .fence, .ticket, .aside, .open, .till, .kept, .wave,
--       .upgrader, .order  of the state hash
-- record.top     the highest fence that was ever given out; 0: none is known
-- record.traces  keys that exist while others are there
-- record.sees    'spin': in a turn of those who spin record.theirs can be told
-- record.theirs  true if somebody has the name in it: with a grant of ours to
--                one that does not spin it would be over
-- record.came, .alone  of the state hash; see part_others
--
-- A writer is its field `<claim>:write`. A reader is its field `<claim>` and
-- its timeout key, which lives as long as its own lease; either alone is
-- nothing. A writer whose owner reads beside it has such a key as well, for the
-- hash may outlive its lease; then the state's field `aside` names it. What the
-- state and the holders hash say counts only for claims that hold by that.

local lock, state, holders = KEYS[1], KEYS[2], KEYS[8]
local record = {traces = {KEYS[9]}, sees = 'spin'}
local timeout_prefix = string.find(lock, '{', 1, true) and lock .. ':'
    or '{' .. lock .. '}:'

-- The key that lives as long as a reader's lease; count: which of its holds,
-- where it has several, as Redisson's may.
local function timeout_key(claim, count)
    return timeout_prefix .. claim .. ':rwlock_timeout:' .. (count or 1)
end

-- A reader's record in the holders hash, or nil.
local function mark_of(packed)
    local fence, ticket, mode, since, ms, inbox, reason = string.match(
        packed or '', '^(%d+) (%d+) (%a) (%d+) (%d+) (%S*) (.*)$')
    if not fence then
        return nil
    end
    return {fence = tonumber(fence), ticket = tonumber(ticket), mode = mode,
        since = tonumber(since), lease = tonumber(ms), inbox = inbox,
        reason = reason}
end

do
    local owner = ARGV[1]
    local fields = redis.pcall('HMGET', lock, 'mode', owner, owner .. ':write')
    if fields.err and string.find(fields.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the key is not a read-write lock')
    elseif fields.err then
        return fields
    elseif not fields[1] and redis.call('EXISTS', lock) == 1 then
        return redis.error_reply('LKTYPE the key is a lock')
    elseif fields[1] and fields[1] ~= 'read' and fields[1] ~= 'write' then
        return redis.error_reply('LKTYPE the key is not a read-write lock')
    end
    record.mode = fields[1] or nil
    record.theirs = record.mode ~= nil
    record.writes = fields[1] == 'write' and fields[3] ~= false
    record.reads = fields[2] ~= false
        and redis.call('EXISTS', timeout_key(owner)) == 1

    local marks = redis.pcall('HMGET', state, 'v', 'claim', 'fence', 'ticket',
        'open', 'until', 'kept', 'top', 'wave', 'upgrader', 'order', 'aside',
        'came', 'alone')
    if marks.err and string.find(marks.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the state key is not a hash')
    elseif marks.err then
        return marks
    elseif marks[1] and marks[1] ~= '1' then
        return redis.error_reply('LKLAYOUT the name is in use by a release '
            .. 'with another layout of keys')
    end
    record.claim, record.fence, record.ticket = marks[2], marks[3], marks[4]
    record.open = tonumber(marks[5])
    record.till = tonumber(marks[6])
    record.kept = tonumber(marks[7])
    record.top = math.max(tonumber(marks[3]) or 0, tonumber(marks[8]) or 0)
    record.wave = tonumber(marks[9]) or -1
    record.upgrader = marks[10] or ''
    record.order = marks[11] or '0'
    record.aside = marks[12]
    record.came = tonumber(marks[13])
    record.alone = tonumber(marks[14])

    local writer = record.aside
    if record.mode == 'write' and writer and writer == record.claim
            and redis.call('HEXISTS', lock, writer .. ':write') == 1
            and redis.call('EXISTS', timeout_key(writer)) == 0 then
        record.mode, record.lapsed = 'read', writer
        record.writes = record.writes and owner ~= writer
    end
end
