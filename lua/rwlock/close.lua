-- SPDX-License-Identifier: MIT
-- close: end a claim, whatever it has, and let in those who wait for that.
--
-- why: r releases, l leaves. own and, if it may not acquire any more, stone come
-- with l. was: 0 it had nothing, 1 it waited, 2 it held. code: 0 nobody holds
-- instead, 2 another does, 3 the same claim under another fence. Alone: the hold
-- ends, and nobody is let in; its timeout key ends by itself. Before `rest`
-- the only hold ends for whose end nobody waits, and a read beside others where it
-- lets nobody in.
--
-- Invariants: on a mismatch nothing changes. Afterwards the claim neither holds
-- nor waits. A full server does not refuse it. Other holds stand. At most 64
-- waiters are looked at.
-- needs: failed leave others publish vacate

if not record_key then
    local mode = redis.pcall('HGET', lock_key, 'mode')
    if failed(mode) then
        return mode
    end
    local wrote = redis.call('HEXISTS', lock_key, claim .. ':write') == 1
    local field = wrote and claim .. ':write' or claim
    if redis.call('HEXISTS', lock_key, field) == 0 then
        return {NOT_HELD, mode == 'write' and 2 or 0}
    end
    local is_last = redis.call('HLEN', lock_key) == 2
    local ended
    if is_last then
        ended = redis.pcall('HDEL', lock_key, field, 'mode')
    else
        -- Changes nothing: a full server lets through what follows, and whoever may
        -- not let the writer out does not make it a reader.
        ended = failed(redis.pcall('HDEL', lock_key, ''))
            or wrote and failed(redis.pcall('HSET', lock_key, 'mode', 'read'))
            or redis.pcall('HDEL', lock_key, field)
    end
    if failed(ended) then
        return ended
    end
    ended = (is_last or wrote) and publish(channel,
        wrote and '1' or '0')
    return {CLOSED, 2, 0, failed(ended) and 1 or 0}
end

local there = why == 'r' and redis.call('EXISTS', queue_key, spin_key)
if there == 0 or there == 1 then
    local layout, last, more, owner = record.only(
        redis.call('GET', record_key) or '', layout, fence, more, claim)
    local wave, order, aside = marks.only(more or '', wave, order, aside)
    local held = redis.pcall('HMGET', lock_key, 'mode', claim,
        claim .. ':write')
    local size = layout == form.layout_rwlock and held[1]
        and redis.pcall('HLEN', lock_key)
    local is_alone = there == 0 and size == 2
    local wrote = is_alone and held[1] == 'write' and held[3]
        and owner == claim and last == fence and aside == '-'
    local has_read = is_alone and held[1] == 'read' and held[2]
        and reader.only(redis.call('HGET', holders_key, claim) or '',
            fence) == fence
        and redis.call('EXISTS', timeout_key) == 1
    if wrote or has_read then
        return vacate(lock_key, timeout_key, holders_key) or {CLOSED, 2, 0,
            failed(publish(channel, wrote and '1' or '0')) and 1 or 0}
    elseif size and held[1] == 'read'
            and held[2] then
        local fields, keys = others(lock_key, claim, timeout_key, true)
        local grants = fields and redis.pcall('HMGET', holders_key, claim,
            unpack(there == 0 and {} or fields))
        if fields
                and reader.only(grants[1] or '', fence) == fence
                and (there == 0 or leave.is_kept_out(queue_key, order, wave,
                    leave.has_strangers(grants))) then
            return leave.go(lock_key, holders_key, claim, keys)
                or {CLOSED, 2, 0, 0}
        end
    end
end

-- rest
-- needs: audience clock hold line queue room share turns sweep

clock.look()
local bad = hold.look(lock_key, record_key, claim)
if bad then
    return bad
end
local to = {lock = lock_key, record = record_key, queue = queue_key,
    holders = holders_key, channel = channel, spin = spin_key, db = db,
    life = life, left = redis.call('PTTL', lock_key)}
local turned = turns.read(hold.was.turn)
local wrote, held = hold.writes, hold.writes or hold.reads
local grant = held and hold.grant(holders_key, claim)
if why == 'r' and not held then
    return {NOT_HELD, hold.code}
elseif why == 'r' and grant and grant.fence ~= fence then
    return {NOT_HELD, 3}
end
local score = why == 'l' and redis.call('ZSCORE', queue_key, own)
if score and queue.parts(tonumber(score)) == queue.VOID then
    score = false -- it stays void
end

-- All is read before the first write.
local out = {fields = {}, stays = false, claim = claim,
    key = timeout_key}
if held and wrote then
    out.stays, bad = readers.any(lock_key)
elseif hold.mode == 'write' then
    out.stays = true
elseif hold.mode == 'read' then
    out.stays, bad = readers.any(lock_key, claim)
end
if bad then
    return bad
end
local was_mode = hold.mode
out.mode = hold.told_mode()
if held and wrote then
    hold.mode = out.stays and 'read' or nil
elseif not out.stays then
    hold.mode = nil
end
if held then
    out.fields[1] = wrote and claim .. ':write' or claim
end
out.fields[#out.fields + 1] = hold.lapsed
for _, dead in ipairs(readers.gone()) do
    out.fields[#out.fields + 1] = dead
end
local seen, ins, denied, begun = {parked = {}, more = 0}, {}, nil, nil
local was_waited = hold.mode ~= 'write'
    and redis.call('EXISTS', queue_key) == 1
if was_waited then
    seen, denied = room.survey(to, {}, {}, own)
    ins, bad = room.choose(to, seen, turned, not wrote and claim or nil)
    if bad then
        return bad
    end
end
local first = ins[1]
if denied then
    ins = {} -- perhaps they are dead; the first is told to look
end
if not hold.mode and (was_waited or redis.call('EXISTS', spin_key) == 1) then
    local counts = audience({channel})
    denied = failed(counts) or denied
    begun = not denied and turns.due(turned, interop == '1' or counts[2] > 0
        or turns.is_met(turned) or redis.call('EXISTS', spin_key) == 1)
    if not was_mode and not begun
            and turns.left(turned, turned.side ~= 'p') > 0 then
        begun = hold.was.turn -- it lies free for the others
    end
end
local gone = #seen.parked > 0 and sweep.find(queue_key) or {}

if why == 'l' then
    bad = line.leave(queue_key, own, score, stone)
    if bad then
        return bad
    end
end
local at, undone
if #ins > 0 and not begun then
    local text = was_mode and not hold.mode and turns.handed(turned)
        or hold.mode and hold.was.turn or turns.taken(turned)
    hold.mode = was_mode
    if wrote and out.stays or wrote and not share.writes(first) then
        hold.mode = 'read'
        hold.marks.wave = '-1'
    end
    at, bad, undone = share.let_in(to, ins, out, text, share.claim_ms, false)
    if not at and not undone then
        return bad
    end
    denied = bad or denied
    for i = 1, at and #ins or 0 do
        denied = share.tell(to, ins[i], at) or denied
    end
end
if held and not at then
    bad = share.free(to, out, wrote)
    if bad then
        return bad
    end
end
if begun and not out.stays then
    denied = failed(redis.pcall('SET', record_key, hold.record({turn = begun}),
        'PX', hold.life(record_key, life))) or denied
end
if not at and first then
    denied = failed(message.opened(first, queue_key, db, 'rwlock',
        queue.text(first.ticket), lock_key)) or denied
end
if held and (not at and not out.stays
        or wrote and (out.stays or at and not share.writes(first))) then
    denied = share.tell_theirs(to, wrote) or denied
end
denied = line.park(queue_key, seen) or denied
for i = 1, seen.lost and #seen.lost or 0 do
    gone[#gone + 1] = seen.lost[i]
end
if #gone > 0 then
    redis.pcall('ZREM', queue_key, unpack(gone))
end
if was_waited and not stone then
    line.drop(queue_key)
end
return {CLOSED, held and 2 or score and 1 or 0, seen.more, denied and 1 or 0}
