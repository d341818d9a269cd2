-- SPDX-License-Identifier: MIT
-- touch: waiters of one client say that they are alive, and see to it that the next
-- one looks.
--
-- looks: 1: there is one member, which takes if its turn has come. taken: by this
-- call, with the ticket that it had, or before: 0. gone: what it waited for is gone,
-- and it waits no more. left, next: as in acquire, of the first
-- of all if it is the caller's; else next is 0. turn: which of these members,
-- counted from 1, is to look for itself now, because its turn has come or nobody
-- will tell it; 0: none. A ticket of 0: it does not wait, or what it waited for is
-- gone.
--
-- Invariants: it queues nobody, and takes for nobody that does not look. A full server does not
-- refuse it. Nobody alive before one that takes is passed by. Where nothing waits it
-- writes nothing.
-- needs: alive clock counter failed line queue room sweep

local to = {counter = counter_key, record = record_key, queue = queue_key,
    memo = memo_key, zset = zset_key, channel = channel, db = db,
    interop = interop, life = tonumber(life)}
local bad = counter.look(to)
if bad then
    return bad
end
if looks == '1' then
    counter.recall(to, string.match(ARGV[first_of_members], '^[^ ]*'))
    if counter.count then
        return {TAKEN, 0}
    end
end

-- The caller's members: their tickets, and those parked, which go back to their
-- places.
local tickets, mine, back, at_of, lost = {}, {}, {}, {}, nil
local marks_now, waits = {queue.text(-clock.ms), uuid}, false
local scores = redis.call('ZMSCORE', queue_key, uuid, 'gap', 'gap0',
    unpack(ARGV, first_of_members))
for i = first_of_members, #ARGV do
    local at = i - first_of_members + 1
    local score = scores[at + 3]
    local it = score and queue.entry(ARGV[i], score)
    tickets[at] = 0
    if it and it.band ~= queue.VOID and room.is_gone(it) then
        lost = it
    elseif it and it.band ~= queue.VOID then
        tickets[at], waits = it.ticket, true
        mine[it.text], at_of[it.text] = true, at
        if it.band == queue.PARKED then
            back[#back + 1] = it
            marks_now[#marks_now + 1] = queue.score(1, it.ticket)
            marks_now[#marks_now + 1] = it.text
        end
    end
end
if looks == '1' and lost then
    bad = failed(redis.pcall('ZREM', queue_key, lost.text))
    return bad or {GONE}
end
local own_mark = scores[1] and -scores[1]
if waits and not (own_mark and clock.is_near(own_mark, 3000)) then
    alive.look_for_gap(queue_key, scores[2], scores[3])
end

-- Whose turn it is.
local found, denied = room.find(to, counter.free, counter.gone, mine, back, nil)
local head = found.head and mine[found.head.text] and found.head or nil
local has_come = head and tonumber(head.need) <= counter.free
    and room.left(to) == 0
local takes = looks == '1' and has_come
local left, next_up = room.outlook(to, head, head ~= nil)
if takes then
    found, denied = room.find(to, counter.free - head.need, counter.gone, {},
        {}, head.text)
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
denied = line.park(queue_key, found) or denied
if sweeps then
    counter.sign(to)
end
if takes then
    bad = room.take(to, head, true)
    if bad then
        return bad
    end
end
if takes or not head then
    denied = room.tell(to, found, counter.free) or denied
end
if #gone > 0 then
    redis.pcall('ZREM', queue_key, unpack(gone))
end
if takes then
    return {TAKEN, head.ticket}
end
return {TOUCHED, left, next_up,
    (has_come or next_up == 1) and at_of[head.text] or 0, found.more,
    denied and 1 or 0, tickets}
