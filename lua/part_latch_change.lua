-- SPDX-License-Identifier: MIT
-- part_latch_change: writing what became of a latch, and telling it.
-- Needs: part_error, part_clock, part_latch, and the arguments owner, channel.
--
-- Each function returns an error or nil, unless it says otherwise. A script
-- notes its operation, writes the count and the record, and tells. Where
-- something fails before the telling, change.undo() takes back what was
-- written.

local change = {}

local waiting, tickets = KEYS[3], KEYS[4]
-- So long the record of a latch is kept that is not there any more, or that is
-- open and has no end: else each name that was ever used would stay.
local KEEP_MS = 604800000
-- The entry that says when a count has ended; see part_latch.
local WITNESS = '#'
local was

-- Gives the record its time, and what belongs to it.
local function keep()
    if latch.phase == 'armed' and not latch.foreign and latch.till == 0 then
        redis.pcall('PERSIST', members)
        return failed(redis.pcall('PERSIST', state))
    end
    local rest = math.max(latch.till - clock.ms, 0)
    local bad = failed(redis.pcall('PEXPIRE', state, rest + KEEP_MS))
    if not bad and latch.till == 0 then
        bad = failed(redis.pcall('PEXPIRE', members, KEEP_MS))
    elseif not bad then
        bad = failed(redis.pcall('PEXPIREAT', name, latch.till))
            or failed(redis.pcall('ZADD', members, 0, WITNESS))
            or failed(redis.pcall('PEXPIREAT', members, latch.till))
    end
    return bad
end

-- Writes the record. Numbers are passed as such: Redis writes them out in
-- full, Lua's own conversion does not.
function change.save()
    return failed(redis.pcall('HSET', state, 'v', '1', 'kind', 'latch',
        'phase', latch.phase, 'gen', latch.gen, 'opened', latch.opened,
        'gone', latch.gone, 'size', latch.size, 'ttl', latch.ttl,
        'until', latch.till, 'foreign', latch.foreign and '1' or '0',
        'met', latch.met and '1' or '0'))
        or keep()
end

-- Tells our clients. Returns an error or nil.
local function tell(word, ...)
    return failed(redis.pcall('PUBLISH', latch.channel(),
        string.format(word, ...) .. name))
end

-- Writes down what others did, before anything else is changed. What others
-- opened is told to our clients, who cannot all have heard it from them.
function change.begin()
    local bad
    if latch.news == 'armed' then
        bad = change.save() or failed(redis.pcall('DEL', members))
    elseif latch.news == 'late' and latch.phase ~= 'unset' then
        bad = change.save()
    elseif latch.news == 'opened' then
        bad = change.save()
        if not bad then
            tell('open %.0f ', latch.opened)
            redis.pcall('DEL', waiting, tickets)
        end
    end
    was = {}
    for key, value in pairs(latch) do
        was[key] = value
    end
    return bad
end

local function drop(key)
    if failed(redis.pcall('DEL', key)) then
        redis.pcall('PEXPIRE', key, 0) -- an end that has passed
    end
end

-- Takes back what was written since change.begin(): the count and the record.
function change.undo()
    if was.text then
        redis.pcall('SET', name, was.text)
    else
        drop(name)
    end
    latch.become(was)
    change.save()
    if not latch.known then
        drop(state)
    end
end

-- The end of a latch that stays for ttl ms from now.
local function till(ttl)
    return ttl > 0 and clock.ms + ttl or 0
end

-- Begins a generation with so much to count, for ttl ms; met: the first who
-- arrived does. The first write is one that a full server refuses.
function change.arm(size, ttl, met)
    latch.become({phase = 'armed', gen = latch.number(0), foreign = false,
        size = size, count = size, ttl = ttl, till = till(ttl),
        met = met or false})
    return failed(redis.pcall('SET', name, size))
        or change.save()
        or failed(ttl > 0
            and redis.pcall('ZREMRANGEBYSCORE', members, '(0', '+inf')
            or redis.pcall('DEL', members))
end

-- Counts an armed latch down by n, or up, if n is below 0; it may open. Its
-- time begins anew: ttl ms, or if ttl is 0 what was set before. size is what
-- it was armed with, for a latch of which that is not known; or nil.
function change.count(n, ttl, size)
    local opens = n >= latch.count
    local bad
    if opens then
        bad = failed(redis.pcall('DEL', name))
        latch.become({phase = 'open', opened = latch.gen})
    else
        bad = failed(redis.pcall('DECRBY', name, n))
    end
    if bad or not opens and latch.ttl + ttl == 0 and not latch.foreign then
        return bad -- the record says it all
    end
    ttl = ttl > 0 and ttl or latch.ttl
    latch.become({foreign = false, ttl = ttl, till = till(ttl),
        size = latch.size == 0 and size or latch.size})
    return change.save()
end

-- Ends the generation without opening it. The record says so before the count
-- does: a count that is missing alone would mean that it opened.
function change.drop()
    latch.become({phase = 'unset', gone = latch.gen, foreign = false,
        size = 0, ttl = 0, till = 0})
    return change.save() or failed(redis.pcall('DEL', name))
end

-- The last of those who arrived has left, and nobody waits: it is as before the
-- first of them came. The record says so before the count does.
function change.disarm()
    latch.become({phase = 'unset', foreign = false, size = 0, ttl = 0,
        till = 0, met = false})
    local bad = change.save() or failed(redis.pcall('DEL', name))
    if not bad then
        redis.pcall('DEL', members)
    end
    return bad
end

-- Notes that a member is here, before it is counted.
function change.enter(member)
    return failed(redis.pcall('ZADD', members,
        math.max(clock.us, latch.gen), member))
end

-- Tells everybody what became of it. Returns 1 if the server denied that, so
-- that they find out by looking; else 0.
function change.tell()
    local bad
    if latch.phase == 'open' then
        bad = tell('open %.0f ', latch.opened)
        bad = failed(redis.pcall('PUBLISH', ARGV[2], '0')) or bad
        redis.pcall('DEL', waiting, tickets)
    elseif latch.phase == 'unset' then
        bad = tell('gone %.0f %.0f ', latch.gone, latch.opened)
        if was.text then
            bad = failed(redis.pcall('PUBLISH', ARGV[2], '1')) or bad
        end
        redis.pcall('DEL', waiting, tickets)
    else
        bad = failed(redis.pcall('PUBLISH', ARGV[2], '1'))
    end
    return bad and 1 or 0
end
