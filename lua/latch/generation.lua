-- SPDX-License-Identifier: MIT
-- generation: what a latch is now, told from Redisson's count and the record
-- beside it.
--
-- A generation begins when the latch is armed. Its number is even and only
-- grows, also where the record was lost, since it is not behind the server's
-- clock in microseconds. A wait that begins while nothing is armed has an odd one:
-- above all generations before it, below all that come. Its nonce is the secret
-- of those who were told of it.
--
-- text     what stands in the count, nil: nothing
-- count    the same as a number, 0 if there is nothing
-- phase    'unset', 'armed' or 'open'
-- gen      the last generation; 0: none is known
-- opened   the last one that opened
-- gone     the last one that was deleted or whose time ended
-- size     what the last one was armed with; 0: not known
-- ttl      so long it stays after a change, in ms; 0: for ever
-- till     until then, by the server's clock in ms; 0: for ever
-- foreign  armed by Redisson and not touched by us: unset once open
-- met      armed by the first who arrived
-- nonce    '-': not drawn yet
-- was      the record, raw its text, or false
-- known    there is a record of a latch
-- news     what others did and the record does not say yet: 'opened' or
--          'armed'; 'late': its end was further away than it can be; or nil
-- needs: failed clock past

local generation = {}

-- The greatest number that can be told from the next one.
local LAST = 9007199254740991

-- The next number with this remainder by 2.
function generation.number(it, rest)
    local number = math.max(it.gen + 1, clock.us)
    return number + (number - rest) % 2
end

-- Says what it is from now on.
function generation.become(it, fields)
    for key, value in pairs(fields) do
        it[key] = value
    end
end

local function wrong(words)
    return redis.error_reply('LKTYPE ' .. words)
end

-- The count's text, or nil; and an error. What is no text in MGET is asked for
-- alone, which tells another type from nothing.
local function count_of(text, key)
    text = text or redis.pcall('GET', key)
    if failed(text) and string.find(text.err, 'WRONGTYPE', 1, true) then
        return nil, wrong('the key is not a latch')
    elseif failed(text) then
        return nil, text
    elseif text and not string.match(text, '^%-?%d+$') then
        return nil, wrong('the key is not a count')
    end
    return text or nil
end

-- Redisson changes the count and knows no record. So where both contradict each
-- other, the count is the truth: a count that is gone while the record says
-- armed was counted down by others, unless its time has ended. Whether it has
-- cannot be told from the record's time alone, as the server's clock may have
-- been set back since. So the arrived of a latch that has a time, to which an
-- entry of score 0 belongs, end in the same moment as its count: a count that is
-- gone without them has ended. They are asked for with it, each time and in one
-- command: the server may remove what has ended only when it is asked for, and what
-- it has kept is there again once its clock was set back.
local function resolve(it, count, arrived)
    local has_count = it.count > 0
    if it.till > clock.ms + it.ttl then
        it.till, it.news = clock.ms + it.ttl, 'late'
    end
    local ended = it.till > 0 and clock.ms >= it.till
    if ended and has_count then
        -- The record's own count ends in this very moment.
        ended = redis.call('PTTL', count) == -1
    elseif it.phase == 'armed' and it.till > 0 and not has_count then
        ended = ended or redis.call('EXISTS', arrived) == 0
    end

    if it.phase ~= 'unset' and ended then
        it.phase, it.gone = 'unset', it.gen
    elseif it.phase == 'armed' and not has_count then
        it.phase = it.foreign and 'unset' or 'open'
        it.opened, it.news = it.gen, 'opened'
    end
    if has_count and it.phase ~= 'armed' then
        generation.become(it, {phase = 'armed', news = 'armed',
            gen = generation.number(it, 0), foreign = true, size = 0, ttl = 0,
            till = 0, met = false, nonce = '-'})
    elseif it.phase == 'unset' and it.text then
        it.phase = 'open' -- a count of 0 or less, as Redisson reads it
    end
end

-- What the latch is; or nil and an error, where the keys are not ours to touch.
-- Changes nothing.
function generation.read(count, record_at, arrived)
    clock.look()
    local both = redis.call('MGET', count, record_at, arrived)
    local text, bad = count_of(both[1], count)
    local was = nil
    if not bad then
        was, bad = past.read(both[2], form.layout_latch)
    end
    if bad then
        return nil, bad
    elseif text and string.find(both[2] or '', '^2[pc]') then
        return nil, wrong('the name is not a latch')
    end
    local marks = latch_marks.read(was.more)
    local it = {text = text, count = tonumber(text or 0), was = was,
        raw = both[2],
        known = marks ~= nil, phase = marks and marks.phase or 'unset',
        foreign = marks and marks.foreign == '1',
        met = marks and marks.met == '1', nonce = marks and marks.nonce or '-'}
    for _, name in ipairs({'gen', 'opened', 'gone', 'size', 'ttl', 'till'}) do
        it[name] = marks and tonumber(marks[name]) or 0
    end
    if it.gen + 3 > LAST then
        return nil, redis.error_reply('LKRANGE the name has no more '
            .. 'generations: one was set to 2^53')
    end
    resolve(it, count, arrived)
    return it
end

-- Milliseconds after which a look makes sense: the time of the latch ends.
function generation.look(it)
    if it.till == 0 or it.phase == 'unset' then
        return -1
    end
    return math.max(it.till - clock.ms, 0) + 1
end

-- What a waiter is to be told that it waits for.
function generation.awaited(it)
    return it.phase == 'armed' and it.gen or generation.number(it, 1)
end

-- The nonce of that. A gap has none: the last generation's was published when
-- that opened, and everybody may know it.
function generation.secret(it)
    return it.phase == 'armed' and it.nonce or '-'
end
