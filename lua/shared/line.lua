-- SPDX-License-Identifier: MIT
-- line: the members of a queue: those of one band in their order, parking, and
-- leaving.
-- needs: alive clock failed queue

local line = {}

-- The members of these modes among the first count, with those to be put back,
-- without the one that leaves; in order. And whether there may be more of them.
-- And what ZADD parks of the others: another family's, or no member at all.
function line.first(key, modes, count, back, leaving)
    local found = queue.first(key, 1, count)
    local entries, strangers = {unpack(back)}, {}
    for i = 1, #found, 2 do
        local it = queue.entry(found[i], found[i + 1])
        local is_one = it and string.find(modes, it.mode, 1, true)
        if is_one and found[i] ~= leaving then
            entries[#entries + 1] = it
        elseif not is_one then
            queue.park(strangers, found[i], found[i + 1])
        end
    end
    if #back > 0 then
        table.sort(entries, function(a, b) return a.ticket < b.ticket end)
    end
    return entries, #found == count * 2, strangers
end

-- Parks those found dead or strange, and notes the gap; behind the first write, or as that.
-- Returns an error or nil; where nobody was parked there is no more to look at.
function line.park(key, found)
    local bad
    if #found.parked > 0 then
        -- Changes nothing; a full server lets through what follows.
        redis.pcall('ZREM', key, '')
        bad = failed(redis.pcall('ZADD', key, 'XX', unpack(found.parked)))
        found.more = bad and 0 or found.more
    end
    if alive.gap then
        redis.pcall('ZADD', key, unpack(alive.gap))
        alive.gap = nil
    end
    return bad
end

-- A member goes, if it is there, or becomes void. Returns an error or nil.
function line.leave(key, own, is_there, stone)
    if not stone then
        return is_there and failed(redis.pcall('ZREM', key, own)) or nil
    end
    local void = queue.score(queue.VOID, math.floor(clock.us / 16))
    if redis.call('PEXPIRE', key, queue.LIFE) == 0 then
        -- Changes nothing; a full server lets through what follows.
        redis.pcall('ZREM', key, own)
    end
    return failed(redis.pcall('ZADD', key, void, own))
        or failed(redis.pcall('PEXPIRE', key, queue.LIFE))
end

-- Deletes a queue that has marks alone. One that was emptied in a slot that moves is
-- no longer there to be asked, which is no reason to fail.
function line.drop(key)
    if redis.pcall('ZCOUNT', key, '0', '+inf') == 0 then
        redis.pcall('DEL', key)
    end
end
