-- SPDX-License-Identifier: MIT
-- part_latch: what a latch is now, told from Redisson's count and the record
-- beside it. Ends the script with an error where the keys are not ours to
-- touch. Changes nothing.
-- Needs: part_error, part_clock.
--
-- A generation begins when the latch is armed. Its number is even and only
-- grows, also where the record was lost, since it is not behind the server's
-- clock in microseconds. Who comes while nothing is armed gets an odd number:
-- above all generations before it, below all that come.
--
-- latch.text     what stands in the count, nil: nothing
-- latch.count    the same as a number, 0 if there is nothing
-- latch.phase    'unset', 'armed' or 'open'
-- latch.gen      the last generation; 0: none is known
-- latch.opened   the last one that opened
-- latch.gone     the last one that was deleted or whose time ended
-- latch.size     what the last one was armed with; 0: not known
-- latch.ttl      so long it stays after a change, in ms; 0: for ever
-- latch.till     until then, by the server's clock in ms; 0: for ever
-- latch.foreign  armed by Redisson and not touched by us: unset once open
-- latch.met      armed by the first who arrived
-- latch.known    there is a record
-- latch.news     what others did and the record does not say yet: 'opened' or
--                'armed'; 'late': its end was further away than it can be; or
--                nil
--
-- Redisson changes the count and knows no record. So where both contradict
-- each other, the count is the truth: a count that is gone while the record
-- says armed was counted down by others, unless its time has ended. Whether it
-- has cannot be told from the record's time alone, as the server's clock may
-- have been set back since. So the members of a latch that has a time, to which
-- an entry of score 0 belongs, end in the same moment as its count: a count
-- that is gone without them has ended.

local name, state, members = KEYS[1], KEYS[2], KEYS[5]
local latch = {}

-- The next number with this remainder by 2.
function latch.number(rest)
    local number = math.max(latch.gen + 1, clock.us)
    return number + (number - rest) % 2
end

-- Says what it is from now on.
function latch.become(fields)
    for key, value in pairs(fields) do
        latch[key] = value
    end
end

-- The channel on which latches tell their own clients.
function latch.channel()
    if string.find(name, '{', 1, true) then
        return 'latchkey:latch::' .. name
    end
    return 'latchkey:latch:{' .. name .. '}'
end

-- Others have armed it.
local function armed_by_others()
    latch.phase, latch.news = 'armed', 'armed'
    latch.gen = latch.number(0)
    latch.foreign, latch.size, latch.ttl, latch.till = true, 0, 0, 0
end

-- Corrects what the record says by what the count says.
local function resolve()
    local has_count = latch.count > 0
    if latch.till > clock.ms + latch.ttl then
        latch.till, latch.news = clock.ms + latch.ttl, 'late'
    end
    local ended = latch.till > 0 and clock.ms >= latch.till
    if ended and has_count then
        -- The record's own count ends in this very moment.
        ended = redis.call('PTTL', name) == -1
    elseif latch.phase == 'armed' and latch.till > 0 and not has_count then
        ended = ended or redis.call('EXISTS', members) == 0
    end

    if latch.phase ~= 'unset' and ended then
        latch.phase, latch.gone = 'unset', latch.gen
    elseif latch.phase == 'armed' and not has_count then
        latch.phase = latch.foreign and 'unset' or 'open'
        latch.opened, latch.news = latch.gen, 'opened'
    end
    if has_count and latch.phase ~= 'armed' then
        armed_by_others()
    end
end

local function read_count()
    local text = redis.pcall('GET', name)
    if failed(text) and string.find(text.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the key is not a latch')
    elseif failed(text) then
        return text
    elseif text and not string.match(text, '^%-?%d+$') then
        return redis.error_reply('LKTYPE the key is not a count')
    end
    latch.text = text or nil
    latch.count = tonumber(text or 0)
    return nil
end

local function read_record()
    local marks = redis.pcall('HMGET', state, 'v', 'kind', 'phase', 'gen',
        'opened', 'gone', 'size', 'ttl', 'until', 'foreign', 'met')
    if failed(marks) and string.find(marks.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the state key is not a hash')
    elseif failed(marks) then
        return marks
    elseif marks[1] and marks[1] ~= '1' then
        return redis.error_reply('LKLAYOUT the name is in use by a release '
            .. 'with another layout of keys')
    elseif marks[1] and marks[2] ~= 'latch' then
        return redis.error_reply('LKTYPE the name is not a latch')
    end
    latch.known = marks[1] and true or false
    latch.phase = marks[3] or 'unset'
    latch.gen = tonumber(marks[4]) or 0
    latch.opened = tonumber(marks[5]) or 0
    latch.gone = tonumber(marks[6]) or 0
    latch.size = tonumber(marks[7]) or 0
    latch.ttl = tonumber(marks[8]) or 0
    latch.till = tonumber(marks[9]) or 0
    latch.foreign = marks[10] == '1'
    latch.met = marks[11] == '1'
    return nil
end

do
    clock.look()
    local bad = read_count() or read_record()
    if bad then
        return bad
    end
    bad = beyond(latch.gen + 3, 'generations')
    if bad then
        return bad
    end
    resolve()
    if latch.phase == 'unset' and latch.text then
        latch.phase = 'open' -- a count of 0 or less, as Redisson reads it
    end
end

-- When a member arrived in this generation, or nil.
function latch.arrived(member)
    local at = tonumber(redis.call('ZSCORE', members, member))
    return at and at >= latch.gen and at or nil
end

-- Whether anybody has arrived in this generation.
function latch.is_attended()
    return redis.call('ZCOUNT', members, string.format('%.0f', latch.gen),
        '+inf') > 0
end
