-- SPDX-License-Identifier: MIT
-- part_latch_change: writing what became of a latch, and telling it.
-- Needs: part_error, part_clock, part_latch, and the arguments owner, channel.
--
-- Each function returns an error or nil, unless it says otherwise. A script
-- notes its operation, writes the record and then the count, and tells. Where
-- something fails before the telling, change.undo() takes back what was
-- written: by the same commands, since a server that denies one may deny
-- others. The count is written last, in one command, so it has no undo.

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
        bad = change.save()
        redis.pcall('DEL', members)
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

-- Takes back what was written since change.begin(), which is the record.
function change.undo()
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

-- Begins a generation with so much to count, for ttl ms; with the first member
-- who arrives, or nil. The first write is one that a full server refuses. Who
-- arrived before does not count, see latch.arrived; those are cleared away.
function change.arm(size, ttl, member)
    local count = member and size - 1 or size
    latch.become({phase = 'armed', gen = latch.number(0), foreign = false,
        size = size, count = count, ttl = ttl, till = till(ttl),
        met = member ~= nil})
    if count == 0 then
        latch.become({phase = 'open', opened = latch.gen})
    end
    local bad = change.save() or member and change.enter(member)
        or count > 0 and failed(redis.pcall('SET', name, count))
    if bad then
        return bad
    end
    if ttl > 0 then
        redis.pcall('PEXPIREAT', name, latch.till) -- as change.save() could
    end
    if ttl > 0 or member then
        redis.pcall('ZREMRANGEBYSCORE', members, ttl > 0 and '(0' or '-inf',
            string.format('(%.0f', latch.gen))
    else
        redis.pcall('DEL', members)
    end
    return nil
end

-- Counts an armed latch down by n, or up, if n is below 0; it may open. Its
-- time begins anew: ttl ms, or if ttl is 0 what was set before. size is what
-- it was armed with, for a latch of which that is not known; or nil.
function change.count(n, ttl, size)
    local opens = n >= latch.count
    local bad
    if opens or latch.ttl + ttl > 0 or latch.foreign then
        ttl = ttl > 0 and ttl or latch.ttl
        latch.become({foreign = false, ttl = ttl, till = till(ttl),
            size = latch.size == 0 and size or latch.size})
        if opens then
            latch.become({phase = 'open', opened = latch.gen})
        end
        bad = change.save()
    end
    if bad then
        return bad
    elseif opens then
        return failed(redis.pcall('DEL', name))
    end
    return failed(redis.pcall('DECRBY', name, n))
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

-- Notes that a member is here, before it is counted; or that it was at a time
-- before.
function change.enter(member, at)
    return failed(redis.pcall('ZADD', members,
        at or math.max(clock.us, latch.gen), member))
end

-- Notes that a member is not here: as one who came before all generations. It
-- may be taken back by change.enter().
function change.exit(member)
    return failed(redis.pcall('ZADD', members, 'XX', 1, member))
end

-- Clears such a member away.
function change.clear(member)
    redis.pcall('ZREM', members, member)
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
