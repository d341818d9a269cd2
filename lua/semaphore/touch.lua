-- SPDX-License-Identifier: MIT
-- touch: waiters of one client say that they are alive, and see to it that what is
-- free is given to the next.
--
-- left: until the next lease ends, -1: that cannot be told. next 1: the caller's
-- first is the first of all, and may wait for those who will not hand over. A
-- ticket of 0: it does not wait, or in vain; asked for alone, it is told that it is
-- scant: it needs more than N, and waits no longer. holds: which of them hold now,
-- counted from 1; one whose hold is revoked does not, and alone it is told that it is
-- void.
--
-- Invariants: it queues nobody. It lengthens the lease of nobody. A member that
-- waits is passed by nobody behind it but while it is parked. Where nothing waits
-- and nothing is given it writes nothing.
-- needs: add books clock failed line permits queue room sides sweep

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key, channel = channel, db = db,
    life = tonumber(life)}
local bad = books.look(to)
if bad then
    return bad
end
books.recover(to)

-- The caller's members: their tickets, those parked, which go back to their
-- places, and those that hold.
local tickets, holds, mine, back, at_of = {}, {}, {}, {}, {}
local marks_now = {queue.text(-clock.ms), uuid}
local waits, vain = false, nil
local scores = redis.call('ZMSCORE', queue_key, uuid, 'gap', 'gap0',
    unpack(ARGV, first_of_members))

local function note_hold(at, fence, left)
    add(holds, group.permits_found({index = at, fence = fence, left = left}))
end

for i = first_of_members, #ARGV do
    local at = i - first_of_members + 1
    local score = scores[at + 3]
    local it = queue.entry(ARGV[i], score or '0')
    tickets[at] = 0
    if it and score and it.band ~= queue.VOID then
        if not books.all or tonumber(it.need) > books.all then
            vain = it
        else
            tickets[at], waits = it.ticket, true
            mine[it.text], at_of[it.text] = true, at
            if it.band == queue.PARKED then
                back[#back + 1] = it
                marks_now[#marks_now + 1] = queue.score(1, it.ticket)
                marks_now[#marks_now + 1] = it.text
            end
        end
    elseif it and not score then
        local own
        own, bad = permits.find(to, it.claim)
        if bad then
            return bad
        elseif own and own.till and own.flag == 'v' then
            if #ARGV == first_of_members then
                return redis.error_reply('LKVOID the hold was revoked')
            end
        elseif own and own.till then
            note_hold(at, tonumber(own.fence), math.max(own.till - clock.ms, 0))
        end
    end
end
if vain and #ARGV == first_of_members then
    bad = failed(redis.pcall('ZREM', queue_key, vain.text))
    if bad then
        return bad
    elseif books.all then
        return {SCANT, books.all}
    end
end
local own_mark = scores[1] and -scores[1]
if waits and not (own_mark and clock.is_near(own_mark, 3000)) then
    alive.look_for_gap(queue_key, scores[2], scores[3])
end

-- Those who get what is free.
local found, next_up, denied = {ins = {}, parked = {}, more = 0}, 0, nil
local head = queue.first(queue_key, 1, '1')[1]
local out = books.free and (head or #back > 0) and books.ended(to, interop)
    or {}
if books.free and (head or #back > 0) and books.free + #out > 0 then
    found, denied = room.find(to, books.free + #out, mine, back, nil)
end
if #found.ins == 0 and mine[head] and books.has_others(to) then
    next_up = 1
end
local sweeps = waits and (clock.ms % 16 == 0 or #found.parked > 0)
local gone = sweeps and sweep.find(queue_key) or {}

if waits then
    bad = failed(redis.pcall('PEXPIRE', queue_key, queue.LIFE))
    for i = 1, alive.gap and #alive.gap or 0 do
        marks_now[#marks_now + 1] = alive.gap[i]
    end
    alive.gap = nil
    bad = bad or failed(redis.pcall('ZADD', queue_key, unpack(marks_now)))
    if bad then
        return bad
    end
end
if #found.ins > 0 then
    local untold
    bad, untold = room.give(to, found.ins, out, sides.read(books.was.turn), mine,
        #ARGV == first_of_members)
    if bad and mine[found.ins[1].text] then
        return bad
    end
    denied = bad or untold or denied
    for i = 1, not bad and #found.ins or 0 do
        local it = found.ins[i]
        local at = at_of[it.text]
        if at then
            tickets[at] = 0
            note_hold(at, it.fence, it.ms)
        end
    end
end
denied = line.park(queue_key, found) or denied
if #gone > 0 then
    redis.pcall('ZREM', queue_key, unpack(gone))
end
books.tidy(to)
return {TOUCHED, books.left(to), next_up, found.more, denied and 1 or 0, tickets,
    holds}
