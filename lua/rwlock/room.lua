-- SPDX-License-Identifier: MIT
-- room: whose turn it is.
--
-- An upgrade goes before all others and keeps them out. In turns (order 0)
-- there are phases: when a writer has left, those who wait to read come in, up
-- to the last ticket at that time, the wave; then comes the first writer, and
-- readers who came meanwhile wait for the next phase. Upgradeable readers take
-- turns with the writers, by ticket. With readers first (order 1) a writer
-- comes in when nobody waits to read; with writers first (order 2) readers do
-- when nobody waits to write.
--
-- A writer that spins, or that waits in Redisson's way, stands in no queue of
-- ours. It keeps new readers out as a waiting one does, but not in our turn, and
-- not where those who read are Redisson's, who do not stand back.
-- needs: audience clock failed queue alive readers hold

local room = {}

-- In the order of their bands, from 0.
local MODES = 'xwur'
local SECOND_MS, PASS_MS = 1000, 500
local FEW = 64

function room.band(mode)
    return string.find(MODES, mode, 1, true) - 1
end

-- Whether some who read are not ours: of those no grant is known. Grants stay
-- behind where others ended the hash, so fields are compared one by one, of a
-- hash with more than a few just their number.
local function find_strangers(to)
    local all, fields = readers.all(to.lock, FEW), {}
    if not all then
        return redis.call('HLEN', to.lock) - 1 - (hold.lapsed and 1 or 0)
            > redis.call('HLEN', to.holders)
    end
    for i = 1, #all, 2 do
        if all[i] ~= 'mode' and all[i] ~= hold.lapsed then
            fields[#fields + 1] = all[i]
        end
    end
    local grants = #fields > 0
        and redis.call('HMGET', to.holders, unpack(fields)) or {}
    for i = 1, #grants do
        if not grants[i] then
            return true
        end
    end
    return false
end

local strangers

function room.has_strangers(to)
    if strangers == nil then
        strangers = find_strangers(to)
    end
    return strangers
end

local function is_our_turn(turned)
    return not turned.theirs and not turned.over
        and clock.ms < turned.since + turned.length
end

-- Whether a writer that stands in no queue of ours keeps new readers out.
function room.has_outside_writer(to, turned)
    if hold.mode ~= 'read' or hold.marks.order == '1'
            or is_our_turn(turned) then
        return false
    end
    local counts = audience({to.channel})
    return redis.call('GET', to.spin) == 'w' or not failed(counts)
        and counts[2] > 0 and not room.has_strangers(to)
end

-- Redisson's readers that overlap keep our writer out, and do not stand back for
-- it. So ours pass it in one half of each second.
local function passes_writers(to)
    return hold.mode == 'read' and hold.marks.order == '0'
        and clock.ms % SECOND_MS < PASS_MS and room.has_strangers(to)
end

-- Whether an upgrade may go on: its base lives, so that nobody can have written
-- since, and was not revoked.
function room.has_base(to, it)
    local base = readers.lives(to.lock, it.base)
        and reader.read(redis.call('HGET', to.holders, it.base) or '')
    return base and base.flag ~= 'v' or false
end

-- The first of a band with those that return to it, in order, but for one. What
-- is no such waiter is added to parked.
local function line_of(to, mode, count, back, but, parked)
    local found, entries = queue.first(to.queue, room.band(mode), count), {}
    for i = 1, #found, 2 do
        local it = queue.entry(found[i], found[i + 1])
        local is_one = it and it.mode == mode
        if is_one and found[i] ~= but then
            entries[#entries + 1] = it
        elseif not is_one then
            queue.park(parked, found[i], found[i + 1])
        end
    end
    for i = 1, #back do
        if back[i].mode == mode then
            entries[#entries + 1] = back[i]
        end
    end
    table.sort(entries, function(a, b) return a.ticket < b.ticket end)
    return entries, #found == count * 2
end

-- Looks at the first of the bands of these modes, nil: of all. mine: texts of members known to
-- be alive; back: those that return to their places; but: a text that is left out.
-- Sets x w u r to those that live, in order; parked to what ZADD parks, strangers
-- among them; more to 1 where others stand behind those that are parked. Where that
-- cannot be told, all are taken to live; then it returns the error as well.
function room.look(to, mine, back, but, modes)
    local seen, all, is_full = {x = {}, w = {}, u = {}, r = {}, parked = {},
        more = 0}, {}, {}
    modes = modes or MODES
    for mode in string.gmatch(modes, '.') do
        local parked = #seen.parked
        seen[mode], is_full[mode] = line_of(to, mode, '16', back, but,
            seen.parked)
        seen.more = is_full[mode] and #seen.parked > parked and 1 or seen.more
        for i = 1, #seen[mode] do
            all[#all + 1] = seen[mode][i]
        end
    end
    local bad = #all > 0 and alive.look(to.queue, all)
    seen.readers_behind = not bad and is_full.r
    for mode in string.gmatch(modes, '.') do
        local living = {}
        for i = 1, #seen[mode] do
            local it = seen[mode][i]
            if bad or mine[it.text] or it.lives then
                living[#living + 1] = it
            else
                queue.park(seen.parked, it.text, it.ticket)
                seen.more = is_full[mode] and 1 or seen.more
            end
        end
        seen[mode] = living
    end
    return seen, bad or nil
end

-- Whether a reader comes in before the first writer, if there is one.
local function lets_read(it, writer, outside, passes)
    if hold.marks.order == '1' or not writer and not outside then
        return true
    elseif hold.marks.order == '2' or outside then
        return false
    end
    local wave = tonumber(hold.marks.wave)
    return wave < 0 or it.ticket <= wave or passes
end

-- Whether behind a writer that waits none of those who read comes in before it:
-- it is not their phase, so they need not be looked at.
local function keeps_out(to, writer)
    local wave = tonumber(hold.marks.wave)
    return writer and hold.marks.order == '0' and wave >= 0
        and redis.call('ZCOUNT', to.queue, queue.score(2, 0),
            queue.score(3, wave)) == 0 and not passes_writers(to)
end

-- As look, at all that may come in: where the first writer keeps the others out it
-- is the only one to be looked at.
function room.survey(to, mine, back, but)
    if #back == 0 and hold.marks.order == '0' and hold.marks.wave ~= '-1' then
        local seen, bad = room.look(to, mine, back, but, 'xw')
        if not bad and #seen.x == 0 and keeps_out(to, seen.w[1]) then
            return seen
        end
    end
    return room.look(to, mine, back, but)
end

-- Whether one that comes to read gets in before those who wait to write, of whom
-- writer is the first.
function room.admits(to, it, writer, turned)
    local outside = room.has_outside_writer(to, turned)
    return lets_read(it, writer, outside,
        writer and not outside and passes_writers(to))
end

-- The members that come in now, of those that were seen. Upgrades without a base
-- are noted as seen.lost. Returns a list, or nil and an error.
function room.choose(to, seen, turned, leaving)
    seen.lost = {}
    if hold.mode == 'write' then
        return {}
    end
    local first
    for i = 1, #seen.x do
        if room.has_base(to, seen.x[i]) then
            first = first or seen.x[i]
        else
            seen.lost[#seen.lost + 1] = seen.x[i].text
        end
    end
    local function is_alone(base)
        if not hold.mode then
            return true
        end
        local others, bad = readers.any(to.lock, base, leaving)
        return others == false, bad
    end
    if first then
        local fits, bad = is_alone(first.base)
        return not bad and {fits and first or nil} or nil, bad
    end
    local writer, ins = seen.w[1], {}
    local outside = #seen.r + #seen.u > 0
        and room.has_outside_writer(to, turned)
    local passes = writer and not outside and passes_writers(to)
    for i = 1, #seen.r do
        if lets_read(seen.r[i], writer, outside, passes) then
            ins[#ins + 1] = seen.r[i]
        end
    end
    local later = seen.u[1]
    if later and not outside and (hold.marks.upgrader == leaving
            or not readers.lives(to.lock, hold.marks.upgrader))
            and (not writer or hold.marks.order == '1'
                or hold.marks.order ~= '2'
                and later.ticket < writer.ticket) then
        ins[#ins + 1] = later
    end
    room.note_more(seen, ins)
    if #ins == 0 and writer then
        local fits, bad = is_alone()
        return not bad and {fits and writer or nil} or nil, bad
    end
    return ins
end

-- Notes in seen.more whether others may come in behind those that do.
function room.note_more(seen, ins)
    for i = 1, seen.readers_behind and #ins or 0 do
        if ins[i] == seen.r[#seen.r] then
            seen.more = 1
        end
    end
end

-- The highest ticket of those who wait to read; 0: nobody does.
function room.last_reader(to)
    local last = redis.call('ZREVRANGEBYSCORE', to.queue,
        '(' .. queue.score(4, 0), queue.score(3, 0), 'WITHSCORES', 'LIMIT',
        '0', '1')[2]
    return last and last - queue.score(3, 0) or 0
end

-- Whether somebody waits whom those who hold keep out.
function room.is_waited_for(to)
    local band = hold.mode == 'write' and 4 or hold.marks.order == '1' and 1
        or 2
    return redis.call('ZCOUNT', to.queue, '0', '(' .. queue.score(band, 0)) > 0
end

-- The next member, if it is one of mine, where the holder will never hand the name
-- over, or where it lies free for others: its text, or nil.
function room.contender(to, mine)
    if hold.mode == 'write' and hold.is_ours then
        return nil
    end
    local found, ticket
    for band = 0, hold.mode == 'read' and 1 or 3 do
        local one = queue.first(to.queue, band, '1')
        local _, own = queue.parts(tonumber(one[2] or '0'))
        if one[1] and (not ticket or own < ticket) then
            found, ticket = one[1], own
        end
    end
    return found and mine[found]
        and (hold.mode ~= 'read' or room.has_strangers(to)) and found or nil
end
