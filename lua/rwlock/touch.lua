-- SPDX-License-Identifier: MIT
-- touch: waiters of one client say that they are alive, and see to it that those
-- who fit come in.
--
-- next: 1 if the caller's first is the first of all and the holder will not hand
-- over, 2 if the name lies free for the others. A ticket of 0: it does not wait,
-- or its base is lost. holds: which of them hold now, counted from 1; one whose
-- hold is revoked does not, and alone it is told that it is void. With peek the
-- answer *held* says that nothing has changed, and nothing of the wait.
--
-- Invariants: it queues nobody. It lengthens the lease of nobody. Where nothing
-- waits and nobody comes in it writes nothing.

local left = redis.call('PTTL', lock_key)
if peek == '1' and left ~= -2 then
    return {HELD, left}
end

-- rest
-- needs: add audience failed clock hold line queue room share turns sweep

clock.look()
local bad = hold.look(lock_key, record_key, '-')
if bad then
    return bad
end
local to = {lock = lock_key, record = record_key, queue = queue_key,
    holders = holders_key, channel = channel, spin = spin_key, db = db,
    life = life, left = left}
local turned = turns.read(hold.was.turn)

local tickets, holds, mine, back, at_of = {}, {}, {}, {}, {}
local marks_now = {queue.text(-clock.ms), uuid}
local waits = false
local scores = redis.call('ZMSCORE', queue_key, uuid, 'gap', 'gap0',
    unpack(ARGV, first_of_members))

-- One of the caller's that is not in the queue: perhaps it holds. Returns whether
-- what it holds was revoked.
local function note_hold(at, it)
    local grant, own_left
    if share.writes(it) then
        grant = hold.is_ours and hold.was.claim == it.claim and hold.was
        own_left = redis.call('PTTL', hold.marks.aside == it.claim
            and readers.key(lock_key, it.claim) or lock_key)
    elseif readers.lives(lock_key, it.claim) then
        grant = reader.read(redis.call('HGET', holders_key, it.claim) or '')
        own_left = redis.call('PTTL', readers.key(lock_key, it.claim))
    end
    if grant and grant.flag == 'v' then
        return true
    elseif grant then
        add(holds, group.found({index = at,
            fence = tonumber(grant.fence), left = own_left, spare = 0}))
    end
end

for i = first_of_members, #ARGV do
    local at = i - first_of_members + 1
    local score = scores[at + 3]
    local it = queue.entry(ARGV[i], score or '0')
    tickets[at] = 0
    if it and score and it.band ~= queue.VOID then
        tickets[at], waits = it.ticket, true
        mine[it.text], at_of[it.text] = true, at
        if it.band == queue.PARKED then
            it.band = room.band(it.mode)
            back[#back + 1] = it
            marks_now[#marks_now + 1] = queue.score(it.band, it.ticket)
            marks_now[#marks_now + 1] = it.text
        end
    elseif it and not score and note_hold(at, it)
            and #ARGV == first_of_members then
        return redis.error_reply('LKVOID the hold was revoked')
    end
end
local own_mark = scores[1] and -scores[1]
if waits and not (own_mark and clock.is_near(own_mark, 3000)) then
    alive.look_for_gap(queue_key, scores[2], scores[3])
end

-- The members that come in, or that have to look for themselves.
local seen, ins, next_up, denied = {parked = {}, more = 0}, {}, 0, nil
local first = waits and room.contender(to, mine)
if hold.mode ~= 'write' and (waits or #holds == 0)
        and redis.call('EXISTS', queue_key) == 1 then
    -- Now and then at all: the dead are not to stay behind a writer for long.
    seen, denied = (clock.ms % 16 == 0 and room.look or room.survey)(to, mine,
        back, nil)
    local counts = audience({channel})
    local theirs = not hold.mode and turns.left(turned, turned.theirs
        and (failed(counts) or interop == '1' or counts[2] > 0
            or turns.is_met(turned)
            or redis.call('EXISTS', spin_key) == 1)) > 0
    if theirs then
        next_up = first and 2 or 0
    else
        ins, bad = room.choose(to, seen, turned)
        if bad then
            return bad
        end
    end
    for i = denied and #ins or 0, 1, -1 do
        if not mine[ins[i].text] then
            table.remove(ins, i) -- perhaps it is dead
        end
    end
end
local text
if hold.mode and first
        and not (ins[1] and ins[1].text == first) then
    next_up = 1
    text = #ins == 0 and turned.theirs and turns.seen(turned) or nil
end
local out = {fields = {}, stays = false}
if #ins > 0 and hold.mode then
    out.stays, bad = readers.any(lock_key)
    if bad then
        return bad
    end
    out.fields = readers.gone()
    out.fields[#out.fields + 1] = hold.lapsed
end
local sweeps = waits and (clock.ms % 16 == 0 or #seen.parked > 0)
local gone = sweeps and sweep.find(queue_key) or {}
for i = 1, seen.lost and #seen.lost or 0 do
    gone[#gone + 1] = seen.lost[i]
    if at_of[seen.lost[i]] then
        tickets[at_of[seen.lost[i]]] = 0
    end
end

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
if text then
    redis.pcall('SET', record_key, hold.record({turn = text}), 'PX',
        hold.life(record_key, math.max(left, 0) + life))
end
if #ins > 0 then
    local is_single, has_own = #ARGV == first_of_members, false
    for i = 1, #ins do
        has_own = has_own or mine[ins[i].text]
    end
    local function ms_of(it)
        return mine[it.text] and is_single and tonumber(it.lease)
            or share.claim_ms(it)
    end
    local fence, refused, undone = share.let_in(to, ins, out, hold.mode
        and hold.was.turn or turns.taken(turned), ms_of, false)
    if refused and (not undone or has_own) then
        return refused
    end
    denied = refused or denied
    for i = 1, fence and #ins or 0 do
        local at = at_of[ins[i].text]
        if at then
            tickets[at] = 0
            add(holds, group.found({index = at, fence = fence,
                left = ms_of(ins[i]), spare = 0}))
        else
            denied = share.tell(to, ins[i], fence) or denied
        end
    end
    left = redis.call('PTTL', lock_key)
end
denied = line.park(queue_key, seen) or denied
if #gone > 0 then
    redis.pcall('ZREM', queue_key, unpack(gone))
end
return {TOUCHED, left, next_up, seen.more, denied and 1 or 0, tickets, holds}
