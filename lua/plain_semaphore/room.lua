-- SPDX-License-Identifier: MIT
-- room: whose turn it is to take permits.
--
-- A permit that was handed to a client which dies before it hears of it would be
-- gone for ever: nothing ends it. So none is handed over. The first that lives and
-- for which there are enough is told `open`, and takes by itself. No member that
-- lives is passed by, however much it needs.
--
-- Those of Redisson who take and give back leave no trace, so that turns cannot be
-- as long as the other side had them. While somebody of theirs listens, every other
-- slice of time is theirs alone: ours take nothing then, a try apart.
-- needs: alive audience clock counter failed line memo message queue

local room = {}

-- So many waiters are looked at in one call.
local LOOKS = 64
local SLICE = 20
-- Those of the queue who wait for permits of a counter.
local MODE = 'c'

-- ---- beside Redisson's ----

-- How many of theirs listen; 0 where the server will not say.
local heard
local function listeners(channel)
    if not heard then
        local counts = audience({channel})
        heard = failed(counts) and 0 or counts[2]
    end
    return heard
end

-- For so many ms what is free is left to Redisson's; 0: it is not.
function room.left(to)
    if math.floor(clock.ms / SLICE) % 2 == 1 and listeners(to.channel) > 0 then
        return SLICE - clock.ms % SLICE
    end
    return 0
end

-- Whether some of Redisson's are there, who tell nobody of ours what they give
-- back.
function room.has_others(to)
    return to.interop == '1' or listeners(to.channel) > 0
end

-- ---- the line ----

-- Whether what a member waits for was deleted, or has ended.
local function is_gone(it, free, gone)
    return not free or it.ticket <= gone
end

function room.is_gone(it)
    return is_gone(it, counter.free, counter.gone)
end

-- Goes along the line, up to the first that lives and waits for what there is.
local function walk(entries, strangers, free, gone, found)
    found.parked, found.told, found.head = strangers, {}, nil
    for i = 1, #entries do
        local it = entries[i]
        local is_lost = is_gone(it, free, gone)
        if not is_lost and it.lives then
            found.head = it
            return
        end
        found.told[#found.told + 1] = is_lost and it or nil
        queue.park(found.parked, it.text, it.ticket)
    end
end

-- Looks along the line, with so many free and those gone up to that ticket. mine
-- holds the texts of members that are known to live; back those that return to
-- their places; leaving is a text that is left out. Sets
--   head     the first that lives, and waits for what is there; nil: nobody. Where
--            there is nothing to be had, the first
--   parked   what ZADD parks, behind the first write
--   told     those whose counter is gone: they are to look
--   more     1: there are more to look at than a call may
-- Returns this, and an error by which nobody's life can be told: then nobody is
-- parked, and the first may live.
function room.find(to, free, gone, mine, back, leaving)
    local found = {parked = {}, told = {}, more = 0}
    if free and free <= 0 and gone == 0 then
        found.head = line.first(to.queue, MODE, '1', back, leaving)[1]
        return found
    end
    for _, count in ipairs({1, LOOKS}) do
        local entries, is_full, strangers = line.first(to.queue, MODE,
            queue.text(count), back, leaving)
        local unknown = {}
        for i = 1, #entries do
            local it = entries[i]
            it.lives = mine[it.text]
            if not it.lives and not is_gone(it, free, gone) then
                unknown[#unknown + 1] = it
            end
        end
        local bad = #unknown > 0 and alive.look(to.queue, unknown) or nil
        if bad then
            found.head = entries[1]
            return found, bad
        end
        walk(entries, strangers, free, gone, found)
        found.more = not found.head and is_full and 1 or 0
        if found.more == 0 then
            break
        end
    end
    return found
end

-- Tells who is to look: those whose counter is gone and, if there are enough for
-- it, the first. Returns an error or nil.
function room.tell(to, found, free)
    local all, bad = {unpack(found.told)}, nil
    if found.head and free and tonumber(found.head.need) <= free then
        all[#all + 1] = found.head
    end
    for i = 1, #all do
        bad = failed(message.opened(all[i], to.queue, to.db, 'plain',
            queue.text(all[i].ticket), to.counter)) or bad
    end
    return bad
end

-- Takes for one whose turn it is. is_queued: it leaves the line last, and keeps its
-- place where it may not. Returns an error, and then it has none, or nil.
function room.take(to, it, is_queued)
    local bad = counter.take(to, it.need)
    if bad or not is_queued then
        return bad
    end
    bad = failed(redis.pcall('ZREM', to.queue, it.text))
    if bad then
        memo.drop()
        counter.add(to, it.need)
    end
    return bad
end

-- After so many ms one that waits should look, -1: nothing is known; and what is
-- to be known of it where it is the first: 2, there is enough and it is left to
-- Redisson's; 1, some of Redisson's are there, so that it must try for itself. Else
-- 0.
function room.outlook(to, it, is_first)
    if not is_first then
        return counter.left(to), 0
    elseif counter.free and tonumber(it.need) <= counter.free
            and room.left(to) > 0 then
        return room.left(to), 2
    end
    return counter.left(to), room.has_others(to) and 1 or 0
end
