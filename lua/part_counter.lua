-- SPDX-License-Identifier: MIT
-- part_counter: a bare counter of permits, and what is known of it. Ends the
-- script with an error where the keys are not ours to touch.
-- Needs: part_error, part_clock, part_lease.
--
-- counter.value  the permits that are free, below 0: owed; nil: unset
-- record.kind, .kept  of the state hash
-- record.gone    of it, too, a number: waiters whose ticket is not above it
--                waited for a counter that was deleted
--
-- The counter is the truth. Where it is unset, the record says nothing of it.

local lock, state, memory = KEYS[1], KEYS[2], KEYS[6]
local counter, record = {}, {}

do
    local value = redis.pcall('GET', lock)
    if failed(value) and string.find(value.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the key is not a semaphore')
    elseif failed(value) then
        return value
    elseif value and not string.find(value, '^%-?%d+$') or #(value or '') > 15
    then
        return redis.error_reply('LKTYPE the key is not a number of permits')
    elseif redis.call('EXISTS', KEYS[8]) == 1 then
        return redis.error_reply('LKTYPE the permits of this semaphore are '
            .. 'leased')
    end
    counter.value = value and tonumber(value) or nil

    local marks = redis.pcall('HMGET', state, 'v', 'kind', 'gone', 'kept')
    if failed(marks) and string.find(marks.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the state key is not a hash')
    elseif failed(marks) then
        return marks
    elseif marks[1] and marks[1] ~= '1' then
        return redis.error_reply('LKLAYOUT the name is in use by a release '
            .. 'with another layout of keys')
    end
    record.kind = marks[2] or nil
    record.gone = tonumber(marks[3] or '0') or 0
    record.kept = tonumber(marks[4] or '')
    if record.kind and record.kind ~= 'plain'
        and (counter.value or record.kind == 'latch')
    then
        return redis.error_reply('LKTYPE the name is in use as another '
            .. 'primitive')
    end
end

-- Notes that the name is a bare counter's, so that nobody leases its permits.
-- Returns an error or nil.
function counter.sign()
    local bad
    if record.kind ~= 'plain' then
        bad = failed(redis.pcall('HSET', state, 'v', '1', 'kind', 'plain'))
    end
    if not bad then
        bad = lease.keep(state, record.kept, 0)
        if bad and not record.kept then
            redis.pcall('DEL', state) -- a state without a TTL would stay
        end
    end
    return bad
end

-- Adds to the counter, whose TTL stays; below 0 takes from it. There is one
-- command for both, so that what may be done may be undone. Returns an error
-- or nil.
function counter.add(amount)
    local after = redis.pcall('INCRBY', lock, amount + 0) -- no -0
    if not failed(after) then
        counter.value = after
    end
    return failed(after)
end

-- Sets the counter, which is unset. The first write is one that a full server
-- refuses. Returns an error or nil.
function counter.set(value, ttl)
    local done
    if ttl > 0 then
        done = redis.pcall('SET', lock, value, 'PX', ttl)
    else
        done = redis.pcall('SET', lock, value)
    end
    if not failed(done) then
        counter.value = value
    end
    return failed(done)
end

-- Removes the counter, and with it what waiters with a ticket up to gone wait
-- for. Returns an error, and then nothing has changed, or nil.
function counter.remove(gone)
    local bad = failed(redis.pcall('HSET', state, 'gone', gone))
    if bad then
        return bad
    end
    bad = failed(redis.pcall('DEL', lock))
    if bad then
        redis.pcall('HSET', state, 'gone', record.gone)
        return bad
    end
    counter.value, record.gone = nil, gone
    return nil
end

-- Tells Redisson's waiters how many are free; they wait for nothing else.
-- Returns an error or nil.
function counter.tell()
    if counter.value > 0 then
        return failed(redis.pcall('PUBLISH', ARGV[2], counter.value))
    end
    return nil
end

-- After so many ms a look makes sense although nobody said a word; -1: none.
function counter.left()
    return counter.value and redis.call('PTTL', lock) or -1
end
