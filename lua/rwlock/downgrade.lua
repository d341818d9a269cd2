-- SPDX-License-Identifier: MIT
-- downgrade: make a writer a reader in one step, so that no other writer comes
-- between, and let in those who wait to read.
--
-- It keeps its fence, and what is left of its lease if that is longer than
-- lease. code: as keep's. Its member is the record's.
--
-- Invariants: the claim holds at every moment. On a mismatch nothing changes.
-- Sent again it changes nothing. A full server does not refuse it.
-- needs: failed clock hold past queue room share

clock.look()
local bad = hold.look(lock_key, record_key, claim)
if bad then
    return bad
elseif not hold.writes and not hold.reads then
    return {NOT_HELD, hold.code}
end
local grant = hold.grant(holders_key, claim)
if grant and grant.fence ~= fence then
    return {NOT_HELD, 3}
elseif not grant and hold.reads then
    return {NOT_HELD, 0}
elseif grant and grant.flag == 'v' then
    return {NOT_HELD, 4}
elseif hold.reads then
    return {READS, redis.call('PTTL', timeout_key), 0, 0}
end
local to = {lock = lock_key, record = record_key, queue = queue_key,
    holders = holders_key, channel = channel, spin = spin_key, db = db,
    life = life, left = redis.call('PTTL', lock_key)}
local left = math.max(tonumber(lease),
    redis.call('PTTL', hold.lasts_by(lock_key, claim)))
local own = past.none(form.layout_rwlock, fence, '0')
for name, value in pairs(grant or {}) do
    own[name] = value
end
own.claim, own.mode, own.ticket, own.fence = claim, 'r', 0, tonumber(fence)
own.text = ''
if own.inbox == '-' then
    own.inbox = 'p'
end

-- All is read before the first write. From here on it reads.
hold.mode, hold.is_ours = 'read', false
hold.marks.wave = queue.text(room.last_reader(to))
local seen, ins, denied = {parked = {}, more = 0}, {}, nil
if redis.call('EXISTS', queue_key) == 1 then
    seen, denied = room.look(to, {}, {}, nil)
    for i = 1, not denied and #seen.r or 0 do
        if hold.marks.order ~= '2' or #seen.w == 0 then
            ins[#ins + 1] = seen.r[i]
        end
    end
end
room.note_more(seen, ins)
table.insert(ins, 1, own)
local at, refused = share.let_in(to, ins, {fields = {claim .. ':write'},
    stays = true, mode = 'write', aside = hold.marks.aside}, hold.was.turn,
    function(it)
        return it == own and left or share.claim_ms(it)
    end, false)
if not at then
    return refused
end
for i = 2, #ins do
    denied = share.tell(to, ins[i], at) or denied
end
denied = share.tell_theirs(to, true) or denied
return {READS, left, seen.more, denied and 1 or 0}
