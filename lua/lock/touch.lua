-- SPDX-License-Identifier: MIT
-- touch: waiters of one client say that they are alive, and see to it that a
-- free lock is given to the next.
--
-- next: 1 if the caller's first is the first of all and nobody of ours holds
-- the name, 2 if the name lies free for the others. A ticket of 0: it does not
-- wait. holds: which of them holds now, counted from 1; one that is revoked does
-- not, and alone it is told that it is void. With peek the answer *held* says that
-- nothing has changed, and nothing of the wait.
--
-- Invariants: it queues nobody. It lengthens the lease of nobody. A member that
-- waits is passed by nobody behind it but while it is parked. Where nothing
-- waits and nothing is given it writes nothing.

local left = redis.call('PTTL', lock_key)
if peek == '1' and left ~= -2 then
    return {HELD, left}
end

-- rest
-- needs: failed clock past holder give line sweep

local both = redis.call('MGET', record_key, token_key)
local was, bad = past.read(both[1], form.layout_lock)
if not was then
    return bad
end
clock.look()
local held = redis.pcall('HEXISTS', lock_key, was.claim)
if failed(held) then
    return holder.wrong(held)
end
local to = {lock = lock_key, record = record_key, queue = queue_key,
    token = token_key, fairq = fairq_key, channel = channel, db = db,
    life = life}
local turned = turns.read(was.turn)

-- The caller's members: their tickets, those parked, which go back to their
-- places, and the one that holds.
local tickets, holds, mine, back = {}, {}, {}, {}
local marks = {queue.text(-clock.ms), uuid}
local waits, at_of = false, {}
local scores = redis.call('ZMSCORE', queue_key, uuid, 'gap', 'gap0',
    unpack(ARGV, first_of_members))
for i = first_of_members, #ARGV do
    local at = i - first_of_members + 1
    local score = scores[at + 3]
    local it = queue.entry(ARGV[i], score or '0')
    tickets[at] = 0
    if it and score and it.band ~= queue.VOID then
        tickets[at], waits = it.ticket, true
        mine[it.text], at_of[it.text] = true, at
        if it.band == queue.PARKED then
            it.band = 1
            back[#back + 1] = it
            marks[#marks + 1] = queue.score(1, it.ticket)
            marks[#marks + 1] = it.text
        end
    elseif it and held == 1 and it.claim == was.claim then
        if was.flag ~= 'v' then
            holds = {group.found({index = at, fence = tonumber(was.fence),
                left = left, spare = tonumber(was.spare)})}
        elseif #ARGV == first_of_members then
            return redis.error_reply('LKVOID the hold was revoked')
        end
    end
end
local own_mark = scores[1] and -scores[1]
if waits and not (own_mark and clock.is_near(own_mark, 3000)) then
    alive.look_for_gap(queue_key, scores[2], scores[3])
end

-- Who gets the free name, or who has to look for itself.
local found, next_up, denied, text = nil, 0, nil, nil
if left == -2 then
    found, denied = give.find(queue_key, channel, mine, back, nil)
    local theirs = not found or turns.left(turned, turned.theirs
        and turns.are_seen(turned, interop, found.heard, spin_key, fairq_key,
            channel)) > 0
    if found and theirs then
        next_up = found.it and mine[found.it.text] and 2 or 0
        found.it = nil
    end
elseif held == 0 and waits then
    if mine[queue.first(queue_key, 1, '1')[1]] then
        next_up = 1
        text = turns.seen(turned)
    end
end
found = found or {parked = {}, more = 0}
local sweeps = waits and (clock.ms % 16 == 0 or #found.parked > 0)
local gone = sweeps and sweep.find(queue_key) or {}

if waits then
    bad = failed(redis.pcall('PEXPIRE', queue_key, queue.LIFE))
    for i = 1, alive.gap and #alive.gap or 0 do
        marks[#marks + 1] = alive.gap[i]
    end
    alive.gap = nil
    bad = bad or failed(redis.pcall('ZADD', queue_key, unpack(marks)))
    if bad then
        return bad
    end
end
if text then
    holder.turn(record_key, was, text, life)
end
local it = found.it
if it then
    local is_mine = mine[it.text]
    local is_single = is_mine and #ARGV == first_of_members
    local grant, refused = give.hand(to, it, {}, was, both[2], interop, turned,
        is_single and tonumber(it.lease) or nil)
    if refused and is_mine then
        return refused
    end
    denied = refused
    if grant then
        left = grant.ms
        if is_mine then
            tickets[at_of[it.text]] = 0
            holds = {group.found({index = at_of[it.text], fence = grant.fence,
                left = grant.ms, spare = grant.spare})}
        else
            denied = failed(give.tell(to, it, grant))
        end
    end
end
denied = line.park(queue_key, found) or denied
if #gone > 0 then
    redis.pcall('ZREM', queue_key, unpack(gone))
end
return {TOUCHED, left, next_up, found.more, denied and 1 or 0, tickets, holds}
