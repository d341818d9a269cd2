-- SPDX-License-Identifier: MIT
-- acquire: read, or write, if that may be done beside the others; else queue.
--
-- how: q queues, t tries, y tries and leaves the others their turn, s tries and
-- notes that somebody spins. own is the claim's member; its mode says what it
-- wants, and of an upgrade its base. writes: the same owner's claim that
-- writes, or empty. Before `rest` a free name for which nobody waits is taken, a
-- reader comes in beside others where nobody waits, and whoever comes behind a
-- writer of ours queues.
--
-- Invariants: a writer is alone, but for reads of its own owner. A hash that is
-- there has a TTL, which does not end before a lease in it. Sent again it gives
-- no second ticket and no second hold, and changes no lease. A full server
-- refuses it before anything is written. Nobody alive who goes first is passed
-- by, but in their turn by those who spin.
-- needs: audience begin fences join others past ticket

local to, nonce, mode, term, inbox, reason = member.only(own, claim, nonce, mode,
    lease, inbox, reason)
local there = how ~= 's' and (mode == 'r' or mode == 'w') and tonumber(term) > 0
    and redis.call('EXISTS', lock_key, queue_key)
if there == 0 then
    local was, bad = past.read(redis.call('GET', record_key),
        form.layout_rwlock)
    if not was then
        return bad
    end
    local time = redis.call('TIME')
    local us = time[1] * 1000000 + time[2]
    local ms = string.format('%.0f', math.floor(us / 1000))
    local fence, told = was.fence + was.spare, nil
    if mode == 'w' or fence == 0 then
        fence = fences(us, was.fence, was.spare, false)
    end
    if fence and was.turn == '-' then
        local at = string.format('%.0f', fence)
        local wave, _, upgrader, aside = marks.only(was.more, wave, order,
            upgrader, aside)
        if mode == 'w' then
            wave, aside = '-1', '-'
        elseif not wave or tonumber(wave) < 0 then
            wave = '0'
        end
        was.more = marks.write({wave = wave, order = order,
            upgrader = upgrader or '-', aside = aside or '-'})
        if mode == 'r' then
            was.fence = was.fence + was.spare == 0 and at or was.fence
            told = reader.write({fence = at, nonce = nonce, ticket = '0',
                mode = 'r', since = ms, lease = term, flag = '-', inbox = inbox,
                reason = reason})
        end
        bad = begin(lock_key, holders_key, record_key, timeout_key, to,
            mode == 'w' and 'write' or 'read',
            mode == 'w' and to .. ':write' or to, term,
            string.format('%.0f', term + life), told,
            mode == 'r' and record.write(was) or record.write({
                layout = form.layout_rwlock, fence = at, spare = '0',
                floor = was.floor, flag = '-', turn = '-', more = was.more,
                since = ms, member = own}))
        return bad or {HELD, fence, tonumber(lease)}
    end
elseif there then
    local both = redis.pcall('MGET', record_key, spin_key)
    local layout, last, spare, floor, more, owner = record.only(both[1] or '',
        layout, fence, spare, floor, more, claim)
    local wave, asked, aside = marks.only(more or '', wave, order, aside)
    local held = layout == form.layout_rwlock
        and asked == order
        and redis.pcall('HMGET', lock_key, 'mode', claim, claim .. ':write',
            owner .. ':write') or {}
    if held[1] == 'read' and mode == 'r'
            and there == 1 -- the hash is there, so there is no queue
            and not held[2]
            and both[2] ~= 'w'
            and tonumber(wave) >= 0
            and last + spare > 0 then
        if audience({channel})[2] == 0
                and others(lock_key, claim, timeout_key, false) then
            local ends = math.max(redis.call('PTTL', lock_key), term)
            local time, fence = redis.call('TIME'), last + spare
            local bad = join(lock_key, holders_key, record_key, timeout_key, to,
                term, ends, ends + life, reader.write({
                    fence = string.format('%.0f', fence), nonce = nonce,
                    ticket = '0', mode = 'r',
                    since = time[1] .. string.format('%03d', time[2] / 1000),
                    lease = term, flag = '-', inbox = inbox, reason = reason}))
            return bad or {HELD, fence, tonumber(lease)}
        end
    elseif held[1] == 'write' and how == 'q'
            and held[4]
            and not held[2]
            and not held[3]
            and aside ~= owner
            and writes == '' then
        local time = redis.call('TIME')
        local us = time[1] * 1000000 + time[2]
        local left = redis.call('PTTL', lock_key)
        local number, at, is_late = ticket(queue_key, us, tonumber(floor),
            mode == 'r' and '844424930131968' or '281474976710656',
            mode == 'r' and '1125899906842624' or '562949953421312')
        if number and number * 16 <= us + 1000000 then
            local added = redis.pcall('ZADD', queue_key, 'NX', at, own)
            if added == 1 and is_late then
                added = redis.pcall('PEXPIRE', queue_key, '660000')
                if added ~= 1 then
                    redis.pcall('ZREM', queue_key, own)
                end
            end
            if added ~= 0 then
                return added == 1 and {QUEUED, math.max(left, 0), number, 0}
                    or added
            end
        end
    end
end

-- rest
-- needs: failed clock hold queue readers room share turns

local JOINS_MS = 150

clock.look()
local it = member.read(own)
it.text = own
local bad = hold.look(lock_key, record_key, claim)
if bad then
    return bad
end
to = {lock = lock_key, record = record_key, queue = queue_key,
    holders = holders_key, channel = channel, spin = spin_key, life = life,
    left = redis.call('PTTL', lock_key)}
local turned = turns.read(hold.was.turn)
local score = redis.call('ZSCORE', queue_key, own)
local waiting = queue.entry(own, score or '0')
it.ticket = score and waiting.ticket or 0

if hold.writes or hold.reads then
    local grant = hold.grant(holders_key, claim)
    local left = redis.call('PTTL', hold.writes and hold.lasts_by(lock_key,
        claim) or timeout_key)
    if grant and grant.flag == 'v' then
        return redis.error_reply('LKVOID the hold was revoked')
    elseif grant then
        return {HELD, tonumber(grant.fence), left}
    end
    -- The record was lost. A writer's lease stands aside beside readers alone.
    local stays = hold.reads
    if not stays then
        stays, bad = readers.any(lock_key)
        if bad then
            return bad
        end
    end
    it.mode = hold.writes and 'w' or 'r'
    local fence
    fence, bad = share.let_in(to, {it}, {fields = {}, stays = stays},
        hold.was.turn, function() return math.max(left, 1) end, true)
    return fence and {HELD, fence, left} or bad
elseif waiting.band == queue.VOID then
    return redis.error_reply('LKVOID the claim was given up')
elseif it.mode == 'x' and not room.has_base(to, it) then
    return score and failed(redis.pcall('ZREM', queue_key, own)) or {BASE_LOST}
end
local has_order = hold.marks.order == order
hold.marks.order = order

-- The members that are seen to wait, but the own and those behind it.
local function look_ahead()
    if redis.call('EXISTS', queue_key) == 0 then
        return {x = {}, w = {}, u = {}, r = {}}
    end
    local seen, denied = room.look(to, {}, {}, own,
        it.mode == 'r' and 'xw' or nil)
    if score then
        local before = {}
        for _, one in ipairs(seen[it.mode]) do
            if one.ticket < it.ticket then
                before[#before + 1] = one
            end
        end
        seen[it.mode] = before
    end
    return seen, denied
end

-- Whether it comes in at once: nobody waits whose turn would be sooner. Or nil
-- and an error. With it whether others stay.
local function is_open()
    local own_writer = writes ~= ''
        and redis.call('HEXISTS', lock_key, writes .. ':write') == 1
    local has_upgrader = it.mode == 'u'
        and readers.lives(lock_key, hold.marks.upgrader)
    if hold.mode == 'write' then
        return own_writer and (it.mode == 'r'
            or it.mode == 'u' and not has_upgrader)
    end
    local seen, denied = look_ahead()
    if denied then
        return false, how ~= 'q' and denied or nil
    elseif #seen.x > 0 then
        return false
    elseif it.mode == 'r' or it.mode == 'u' then
        if it.mode == 'u' and (has_upgrader
                or #seen.w + #seen.r + #seen.u > 0) then
            return false
        end
        it.ticket = score and it.ticket or queue.score(1, 0) - 1
        local fits = room.admits(to, it, seen.w[1], turned)
        it.ticket = score and it.ticket or 0
        return fits
    elseif it.mode == 'w' and #seen.w + #seen.r + #seen.u > 0 then
        return false
    end
    local others, wrong = readers.any(lock_key,
        it.mode == 'x' and it.base or nil)
    return others == false, wrong
end

-- Takes the room there is.
local function take()
    local stays = hold.mode == 'write' or it.mode == 'x'
    local fence
    if hold.mode == 'read' and not stays then
        stays, bad = readers.any(lock_key)
        if bad then
            return bad
        end
    end
    local text = hold.was.turn
    if not hold.mode then
        text = how == 's' and turned.theirs
            and (turns.seen(turned) or hold.was.turn) or turns.taken(turned)
    end
    local gone = {hold.lapsed}
    for _, dead in ipairs(readers.gone()) do
        if dead ~= claim then
            gone[#gone + 1] = dead
        end
    end
    fence, bad = share.let_in(to, {it}, {fields = gone, stays = stays}, text,
        function(one) return tonumber(one.lease) end, true)
    if fence and how == 's' and it.mode ~= 'r'
            and redis.call('GET', spin_key) == 'w' then
        redis.pcall('SET', spin_key, '1', 'PX', '1000')
    end
    return fence and {HELD, fence, tonumber(lease)} or bad
end

-- Waits, or goes on waiting.
local function stand()
    local place = waiting.ticket
    if not score then
        local band = room.band(it.mode)
        local at, is_new
        place, at, is_new = ticket(queue_key, clock.us,
            tonumber(hold.was.floor), queue.score(band, 0),
            queue.score(band + 1, 0))
        if not place then
            return at
        end
        bad = failed(redis.pcall('ZADD', queue_key, 'NX', at, own))
            or is_new and failed(redis.pcall('PEXPIRE', queue_key, queue.LIFE))
        if bad then
            redis.pcall('ZREM', queue_key, own)
            return bad
        end
        if place * 16 > clock.us + 1000000 then
            -- A ticket ahead of the clock is no sign of life.
            redis.pcall('ZADD', queue_key, queue.text(-clock.ms),
                string.match(claim, '^(.*):'))
        end
    end
    local contends = not (hold.mode == 'read' and it.mode == 'r')
        and room.contender(to, {[own] = true})
        and (hold.mode and 1 or 2) or 0
    local text = contends == 1 and turned.theirs and turns.seen(turned)
    if text or not has_order then
        redis.pcall('SET', record_key, hold.record({turn = text or nil}), 'PX',
            hold.life(record_key, math.max(to.left, 0) + life))
    end
    return {QUEUED, math.max(to.left, 0), place, contends}
end

local fits = how == 's' and turned.theirs and (not hold.mode
    or it.mode == 'r' and hold.mode == 'read'
        and clock.ms < turned.since + JOINS_MS)
if not fits then
    fits, bad = is_open()
    if bad then
        return bad
    elseif fits and not hold.mode and how ~= 't' and how ~= 's' then
        fits = turns.left(turned, turned.side ~= 'p' and (interop == '1'
            or turned.theirs)) == 0
    end
end
if fits then
    return take()
elseif how == 'q' then
    return stand()
elseif how == 's' and (it.mode == 'w' or it.mode == 'x'
        or redis.call('GET', spin_key) ~= 'w') then
    redis.pcall('SET', spin_key, it.mode == 'r' and '1' or 'w', 'PX', '1000')
end
return {BUSY, to.left}
