-- SPDX-License-Identifier: MIT
-- change_steps: writing what becomes of a latch, and telling it.
--
-- Each function returns an error or nil, unless it says otherwise. The record is
-- written before the count, and the count last, in one command, so that it has
-- no undo; then its end, which no error follows. `to` is as in noted.save, with
-- channel.
-- needs: failed clock past publish queue generation noted waiting

local change_steps = {}

-- ---- what is there ----

-- When a member arrived in this generation, or nil.
function change_steps.arrived(key, it, who)
    local at = tonumber(redis.call('ZSCORE', key, who))
    return at and at >= it.gen and at or nil
end

-- Whether a member that leaves is the only one who is counted in a latch that
-- the first to arrive has armed, and nobody waits.
function change_steps.is_last(key, queue_at, it)
    return it.met and it.count + 1 == it.size
        and redis.call('ZCOUNT', key, queue.text(it.gen), '+inf') == 1
        and waiting.all(queue_at) == 0
end

function change_steps.copy(it)
    local copy = {}
    for key, value in pairs(it) do
        copy[key] = value
    end
    return copy
end

-- ---- who is here ----

-- Notes that a member is here, before it is counted; or that it was at a time
-- before.
function change_steps.enter(to, it, who, at)
    return failed(redis.pcall('ZADD', to.arrived,
        queue.text(at or math.max(clock.us, it.gen)), who))
end

-- Notes that a member is not here: as one who came before all generations. It
-- may be taken back by enter().
function change_steps.exit(to, who)
    return failed(redis.pcall('ZADD', to.arrived, 'XX', '1', who))
end

-- Clears such a member away.
function change_steps.clear(to, who)
    redis.pcall('ZREM', to.arrived, who)
end

-- ---- the record and the count ----

-- Takes back what was written of the record.
function change_steps.undo(to, before)
    if before.known or before.news then
        noted.save(to, before)
    elseif before.raw then
        redis.pcall('SET', to.record, before.raw, 'PX', to.life)
    elseif failed(redis.pcall('DEL', to.record)) then
        -- By the right that has written it.
        redis.pcall('SET', to.record,
            record.write(past.none(form.layout_forgotten, '0', '0')), 'PX', '1')
    end
end

-- The end of a latch that stays for ttl ms from now.
local function till(ttl)
    return ttl > 0 and clock.ms + ttl or 0
end

-- Begins a generation with so much to count, for ttl ms; with the first member
-- that arrives, or false. A member that arrived before does not count, see
-- arrived(); it is cleared away behind it, also where the clock was set back and it
-- seems to arrive later.
function change_steps.arm(to, it, size, ttl, who)
    local count = who and size - 1 or size
    generation.become(it, {phase = 'armed', gen = generation.number(it, 0),
        foreign = false, size = size, count = count, ttl = ttl,
        till = till(ttl), met = who and true or false, nonce = to.nonce})
    if count == 0 then
        generation.become(it, {phase = 'open', opened = it.gen})
    end
    local bad = who and change_steps.enter(to, it, who, nil)
        or noted.save(to, it)
        or count > 0 and failed(redis.pcall('SET', to.count, queue.text(count)))
    if bad then
        return bad
    end
    noted.end_count(to, it)
    if ttl > 0 or who then
        local gen = '(' .. queue.text(it.gen)
        redis.pcall('ZREMRANGEBYSCORE', to.arrived, ttl > 0 and '(0' or '-inf', gen)
        redis.pcall('ZREMRANGEBYSCORE', to.arrived, gen, '+inf')
    else
        redis.pcall('DEL', to.arrived)
    end
    return nil
end

-- Counts an armed latch down by n, or up, if n is below 0; it may open. Its time
-- begins again: ttl ms, or if ttl is 0 what was set before. size is what it was
-- armed with, for a latch of which that is not known; or 0.
function change_steps.count(to, it, n, ttl, size)
    local opens, bad = n >= it.count, nil
    if opens or it.ttl + ttl > 0 or it.foreign then
        ttl = ttl > 0 and ttl or it.ttl
        generation.become(it, {foreign = false, ttl = ttl, till = till(ttl),
            size = it.size == 0 and size or it.size})
        if opens then
            generation.become(it, {phase = 'open', opened = it.gen})
        end
        bad = noted.save(to, it)
    end
    if bad then
        return bad
    elseif opens then
        return failed(redis.pcall('DEL', to.count))
    end
    bad = failed(redis.pcall('DECRBY', to.count, queue.text(n)))
    if not bad then
        noted.end_count(to, it)
    end
    return bad
end

-- Ends the generation without opening it. The record says so before the count
-- does: a count that is missing alone would mean that it opened.
function change_steps.drop(to, it)
    generation.become(it, {phase = 'unset', gone = it.gen, foreign = false,
        size = 0, ttl = 0, till = 0})
    local bad = noted.save(to, it)
        or failed(redis.pcall('DEL', to.count))
    if not bad then
        redis.pcall('DEL', to.arrived)
    end
    return bad
end

-- The last of those who arrived has left, and nobody waits: it is as before the
-- first of them came. The record says so before the count does.
function change_steps.disarm(to, it)
    generation.become(it, {phase = 'unset', foreign = false, size = 0, ttl = 0,
        till = 0, met = false})
    local bad = noted.save(to, it)
        or failed(redis.pcall('DEL', to.count))
    if not bad then
        redis.pcall('DEL', to.arrived)
    end
    return bad
end

-- ---- telling ----

-- Tells everybody what became of it; text is the count that was there. Returns 1
-- if the server denied that, so that they find out by looking; else 0.
function change_steps.tell(to, it, text)
    local bad
    if it.phase == 'open' then
        bad = noted.tell_opened(to, it)
        bad = failed(publish(to.channel, '0')) or bad
    elseif it.phase == 'unset' then
        bad = failed(publish(to.news, look.write({word = 'look',
            db = to.db, family = 'latch', name = to.count})))
        if text then
            bad = failed(publish(to.channel, '1')) or bad
        end
        redis.pcall('DEL', to.queue)
    else
        bad = failed(publish(to.channel, '1'))
    end
    return bad and 1 or 0
end
