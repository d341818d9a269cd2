-- SPDX-License-Identifier: MIT
-- noted: what is written down of a latch, and what others did.
-- needs: failed clock past publish queue

local noted = {}

-- The record's text.
local function text_of(it)
    local was = past.none(form.layout_latch, it.was.fence, it.was.spare)
    was.since = queue.text(clock.ms)
    was.more = latch_marks.write({phase = it.phase, gen = queue.text(it.gen),
        opened = queue.text(it.opened), gone = queue.text(it.gone),
        size = queue.text(it.size), ttl = queue.text(it.ttl),
        till = queue.text(it.till), foreign = it.foreign and '1' or '0',
        met = it.met and '1' or '0', nonce = it.nonce})
    return record.write(was)
end

-- Writes the record, and the end of the arrived: one that is armed without a time
-- has none. The count's end waits until nothing can fail any more, see end_count():
-- nothing would take it back. to: the keys count, record, queue, arrived; db,
-- news, life, nonce. Returns an error or nil.
function noted.save(to, it)
    local stays = it.phase == 'armed' and not it.foreign and it.till == 0
    local text, rest = text_of(it), math.max(it.till - clock.ms, 0)
    local bad = failed(stays and redis.pcall('SET', to.record, text)
        or redis.pcall('SET', to.record, text, 'PX',
            queue.text(rest + to.life)))
    if bad then
        return bad
    elseif stays then
        return failed(redis.pcall('PERSIST', to.arrived))
    elseif it.till == 0 then
        return failed(redis.pcall('PEXPIRE', to.arrived, to.life))
    end
    local till = queue.text(it.till)
    -- No member has an empty name.
    return failed(redis.pcall('ZADD', to.arrived, '0', ''))
        or failed(redis.pcall('PEXPIREAT', to.arrived, till))
end

-- Writes the end of the count of a latch that has a time: that of the arrived, for
-- which save() has needed the same right.
function noted.end_count(to, it)
    if it.till > 0 then
        redis.pcall('PEXPIREAT', to.count, queue.text(it.till))
    end
end

-- Tells our clients that the last one has opened: those who were told of it need
-- not ask. Then nobody waits. Returns an error or nil.
function noted.tell_opened(to, it)
    local bad = failed(publish(to.news, opened.write({
        word = 'opened', db = to.db, family = 'latch',
        gen = queue.text(it.opened), nonce = it.nonce, name = to.count})))
    redis.pcall('DEL', to.queue)
    return bad
end

-- Writes down what others did, before anything else is changed. What others
-- opened is told to our clients, who cannot all have heard it from them. Returns
-- an error or nil.
function noted.catch_up(to, it)
    local bad
    if it.news == 'armed' then
        it.nonce = to.nonce
        bad = noted.save(to, it)
        if not bad then
            redis.pcall('DEL', to.arrived) -- those of before it was armed
        end
    elseif it.news == 'late' and it.phase ~= 'unset' then
        bad = noted.save(to, it)
        if not bad then
            noted.end_count(to, it)
        end
    elseif it.news == 'opened' then
        bad = noted.save(to, it)
        if not bad then
            noted.tell_opened(to, it)
        end
    end
    return bad
end
