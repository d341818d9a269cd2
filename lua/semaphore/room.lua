-- SPDX-License-Identifier: MIT
-- room: for whom of the queue there is room, and making those holders.
--
-- Members are served in order, as long as the next one fits: nobody passes one
-- by, however little it needs. Where something is free, those that are dead are
-- parked whether they fit or not, and one that needs more than N is parked until
-- its client looks.
-- needs: alive audience books clock failed line message permits queue sides

local room = {}

-- A grant lasts at most so long until its owner is heard of.
local CLAIM_MS = 3000
-- So many are looked at in one call; and so many are told where N becomes less.
local LOOKS = 64
local TOLD = 1000
-- Those of the queue who wait for permits with a lease.
local MODE = 'p'

-- Whether a member needs what there cannot be. Anybody may have written it who
-- may write the queue.
local function is_in_vain(it)
    local need = tonumber(it.need)
    return need > books.all or need < 1 or need > permits.MOST
end

-- Sets .lives of entries; mine are known to live. Sets found.heard. Returns an
-- error or nil.
local function look_alive(to, entries, mine, found)
    local inboxes, is_young = {to.channel}, true
    for i = 1, #entries do
        inboxes[i + 1] = message.inbox(entries[i], to.queue)
        is_young = is_young and (mine[entries[i].text]
            or alive.is_young(entries[i]))
    end
    local counts = audience(inboxes)
    if failed(counts) then
        return counts
    end
    found.heard = counts[2]
    for i = 1, #entries do
        entries[i].lives = counts[i * 2 + 2] > 0
    end
    return not is_young and alive.look(to.queue, entries) or nil
end

-- Goes along the line with so many free. Returns whether there is room yet behind
-- its end.
local function walk(entries, strangers, free, mine, found)
    found.ins, found.parked = {}, strangers
    for i = 1, #entries do
        local it = entries[i]
        if free <= 0 then
            return false
        elseif not mine[it.text] and not it.lives or is_in_vain(it) then
            queue.park(found.parked, it.text, it.ticket)
        elseif tonumber(it.need) > free then
            return false
        else
            found.ins[#found.ins + 1] = it
            free = free - it.need
        end
    end
    return free > 0
end

-- Finds those for whom there is room, of so many that are free. mine holds the
-- texts of members that are known to live; back those that return to their
-- places; leaving is a text that is left out. Sets
--   ins      those members
--   parked   what ZADD parks, behind the first write
--   more     1: there are more to look at than a call may
--   heard    how many listen on Redisson's channel
--   head     the first member
-- Returns this, and an error by which nobody else's life can be told: then only
-- mine come in, up to the first of the others.
function room.find(to, free, mine, back, leaving)
    local found = {ins = {}, parked = {}, more = 0, heard = 0}
    local count = math.max(1, math.min(free + (leaving and 1 or 0), LOOKS))
    while true do
        local entries, is_full, strangers = line.first(to.queue, MODE,
            queue.text(count), back, leaving)
        found.head = entries[1]
        local bad = look_alive(to, entries, mine, found)
        if bad then
            local own = {}
            while entries[#own + 1] and mine[entries[#own + 1].text] do
                own[#own + 1] = entries[#own + 1]
            end
            walk(own, strangers, free, mine, found)
            return found, bad
        end
        local goes_on = walk(entries, strangers, free, mine, found) and is_full
        if not goes_on or count == LOOKS then
            found.more = goes_on and 1 or 0
            return found
        end
        count = LOOKS
    end
end

-- How many permits those need that live and stand before a member that wants to
-- take what is free, and the first of them. Where it cannot be told, or where more
-- are dead than one call looks at, all there are: the next touch parks them.
function room.ahead(to, own)
    local entries, is_full = line.first(to.queue, MODE, queue.text(LOOKS), {},
        nil)
    local before = {}
    for i = 1, #entries do
        if entries[i].text == own then
            is_full = false
            break
        end
        before[i] = entries[i]
    end
    local unknown = is_full or #before > 0 and look_alive(to, before, {}, {})
    local sum, first = unknown and math.huge or 0, nil
    for i = 1, #before do
        local it = before[i]
        if it.lives and not is_in_vain(it) then
            sum, first = sum + it.need, first or it
        end
    end
    return sum, first
end

-- Tells a member that there is room, or that it waits in vain. Returns an error
-- or nil.
function room.announce(to, it)
    return failed(message.opened(it, to.queue, to.db, 'semaphore',
        queue.text(it.ticket), to.counter))
end

-- Has those members look who need more than there is: they wait for nothing.
function room.tell_the_short(to)
    local entries = line.first(to.queue, MODE, queue.text(TOLD), {}, nil)
    for i = 1, #entries do
        if is_in_vain(entries[i]) then
            room.announce(to, entries[i])
        end
    end
end

-- Makes members holders with what out gives back, and tells those that are not
-- mine. is_known: mine get their own leases, else the claim lease. Returns an error, and then all
-- is as before; or nil and an error of telling, which takes nothing back.
function room.give(to, ins, out, turned, mine, is_known)
    for i = 1, #ins do
        local lease = tonumber(ins[i].lease)
        ins[i].ms = mine[ins[i].text] and is_known and lease
            or math.min(lease, CLAIM_MS)
    end
    local bad = books.open(to)
    if bad then
        return bad
    end
    bad = books.move(to, ins, out, turned, to.life)
    if bad then
        return bad
    end
    local denied
    for i = 1, #ins do
        local it = ins[i]
        if not mine[it.text] then
            denied = failed(message.granted(it, to.queue, to.db,
                'semaphore', queue.text(it.ticket), queue.text(it.fence), 0, it.ms,
                to.counter)) or denied
        end
    end
    return nil, denied
end
