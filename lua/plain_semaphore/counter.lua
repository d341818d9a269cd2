-- SPDX-License-Identifier: MIT
-- counter: a bare counter of permits, and what is known of it beside it.
--
-- The counter is the truth. Nobody remembers for it who took what, but the memo
-- does for as long as a change may be sent again.
--
-- counter.free  the permits that are free, below 0: owed; nil: unset
-- counter.gone  waiters whose ticket is not above it waited for a counter that
--               was deleted
-- counter.count, .of  the change that was asked for, if it was made: so many
--               permits, and the `gone` of that time; nil: it was not made
-- needs: clock failed memo past publish queue

local counter = {}

local function wrong(words)
    return redis.error_reply('LKTYPE ' .. words)
end

-- Reads them. to: the keys counter, record and zset. Returns an error or nil:
-- then the keys are a bare counter's to use.
function counter.look(to)
    clock.look()
    local both = redis.call('MGET', to.counter, to.record)
    -- MGET says nothing of a key of another type.
    local free = both[1] or redis.pcall('GET', to.counter)
    local layout = string.sub(both[2] or '', 1, 2)
    local bad = failed(free)
    if bad and string.find(bad.err, 'WRONGTYPE', 1, true) then
        return wrong('the key is not a semaphore')
    elseif bad then
        return bad
    elseif free and not string.find(free, '^-?%d+$') or #(free or '') > 15 then
        return wrong('the key is not a number of permits')
    elseif redis.call('EXISTS', to.zset) == 1 then
        return wrong('the permits of this semaphore are leased')
    elseif layout == form.layout_latch
            or layout == form.layout_semaphore and free then
        return wrong('the name is in use as another primitive')
    end
    counter.was, bad = past.read(both[2], layout == form.layout_forgotten
        and layout or form.layout_plain_semaphore)
    if not counter.was then
        return bad
    end
    local marks = plain_marks.read(counter.was.more)
    counter.raw = both[2]
    counter.is_known = layout == form.layout_plain_semaphore
    counter.free = free and tonumber(free) or nil
    counter.gone = marks and tonumber(marks.gone) or 0
    return nil
end

-- Looks whether a change was made. Ends the script where the memo is none.
function counter.recall(to, id)
    memo.look(to.memo, id)
    local it = memo.words and plain_change.read(memo.words)
    counter.count = it and tonumber(it.count)
    counter.of = it and tonumber(it.gone)
end

-- ---- the record ----

-- The end of the record: a change may be sent again for as long as the memo
-- lives, and until then one counter has to be told from the next.
local function life_of(to)
    return queue.text(math.max(to.life, queue.LIFE))
end

-- A text for the record.
function counter.text(layout, gone)
    local it = past.none(layout, counter.was.fence, counter.was.spare)
    it.more = plain_marks.write({gone = queue.text(gone)})
    it.since = queue.text(clock.ms)
    return record.write(it)
end

-- Writes the record. Returns an error or nil.
function counter.write(to, gone)
    return failed(redis.pcall('SET', to.record,
        counter.text(form.layout_plain_semaphore, gone), 'PX',
        life_of(to)))
end

-- Notes that the name is a bare counter's, so that nobody leases its permits. to
-- has life. Returns an error or nil.
function counter.sign(to)
    if counter.is_known then
        return failed(redis.pcall('PEXPIRE', to.record, life_of(to)))
    end
    return counter.write(to, counter.gone)
end

-- ---- changing it ----

-- Adds to the counter, whose TTL stays; below 0 takes from it. There is one
-- command for both, so that what may be done may be undone. Returns an error
-- or nil.
function counter.add(to, amount)
    local after = redis.pcall('INCRBY', to.counter, queue.text(amount + 0))
    if not failed(after) then
        counter.free = after
    end
    return failed(after)
end

-- Remembers that what was done took so many, and that the name is a bare
-- counter's. Returns an error, and then it is not remembered, or nil.
function counter.record(to, n)
    local bad = memo.note(plain_change.write({count = queue.text(n),
        gone = queue.text(counter.gone)}))
    if bad then
        return bad
    end
    bad = counter.sign(to)
    if bad then
        memo.drop()
    end
    return bad
end

-- Takes so many. The first write is one that a full server refuses. Returns an
-- error, and then none are taken, or nil.
function counter.take(to, n)
    local bad = counter.add(to, -n)
    if bad then
        return bad
    end
    bad = counter.record(to, n)
    if bad then
        counter.add(to, n)
    end
    return bad
end

-- Tells Redisson's waiters how many are free; they wait for nothing else.
-- Returns an error or nil.
function counter.tell(channel)
    if counter.free > 0 then
        return failed(publish(channel,
            queue.text(counter.free)))
    end
    return nil
end

-- After so many ms a look makes sense although nobody said a word; -1: none.
function counter.left(to)
    return counter.free and redis.call('PTTL', to.counter) or -1
end
