-- SPDX-License-Identifier: MIT
-- acquire: take the lock if it is free, else queue for it.
--
-- how: q queues, t tries, y tries and leaves the others their turn, s tries and
-- notes that somebody spins. own is the claim's member. A free name that nobody
-- else has anything to do with is taken before `rest`.
--
-- Invariants: what is held has an owner and a TTL. Sent again it gives no
-- second ticket and no second hold, and changes no TTL. A claim that stands in
-- the hash beside another is not told that it holds. Nobody alive who waits
-- for a fair lock is passed by. A full server refuses it before anything is
-- written.
-- needs: fences take ticket

local is_free = redis.call('EXISTS', lock_key, queue_key) == 0
local both = redis.call('MGET', record_key, token_key)
local layout, last, last_spare, floor, turned_to = record.only(both[1] or '',
    layout, fence, spare, floor, turn)
local is_plain = how ~= 's' and interop == '0' and not both[2]
    and (not both[1] or layout == form.layout_lock)

if is_free and is_plain and (turned_to or '-') == '-' then
    local time = redis.call('TIME')
    local fence, spare = fences(time[1] * 1000000 + time[2], last or '0',
        last_spare or '0', false)
    local bad = not fence and spare or take(lock_key, record_key, claim, lease,
        life, record.write({layout = form.layout_lock,
        fence = string.format('%.0f', fence),
            spare = spare, floor = floor or '0', flag = '-', turn = '-',
            more = '-', since = time[1] .. string.format('%03d',
                time[2] / 1000), member = own}))
    return bad or {HELD, fence, tonumber(lease), spare}
elseif not is_free and is_plain and how == 'q' and layout then
    -- Perhaps held by one of ours, who will hand it on.
    local owner = record.only(both[1], claim)
    local held = redis.pcall('HMGET', lock_key, owner, claim)
    if held[1] and not held[2] then
        local time = redis.call('TIME')
        local us = time[1] * 1000000 + time[2]
        local number, score, is_new = ticket(queue_key, us, tonumber(floor),
            '281474976710656', '562949953421312')
        local left = redis.call('PTTL', lock_key)
        if number and number * 16 <= us + 1000000 then
            local added = redis.pcall('ZADD', queue_key, 'NX', score, own)
            if added == 1 and is_new then
                added = redis.pcall('PEXPIRE', queue_key, '660000')
                if added ~= 1 then
                    redis.pcall('ZREM', queue_key, own)
                end
            end
            if added ~= 0 then
                return added == 1 and {QUEUED, left, number, 0} or added
            end
        end
    end
end

-- rest
-- needs: failed clock past holder queue message alive turns

clock.look()
local it = member.read(own)
it.text = own
local was, bad = past.read(both[1], form.layout_lock)
if not was then
    return bad
end
local ours = redis.pcall('HMGET', lock_key, claim, was.claim)
if failed(ours) then
    return holder.wrong(ours)
end
local left = redis.call('PTTL', lock_key)
local turned = turns.read(was.turn)

if ours[1] and was.claim == claim and was.flag == 'v' then
    return redis.error_reply('LKVOID the hold was revoked')
elseif ours[1] and was.claim == claim then
    return {HELD, tonumber(was.fence), left, tonumber(was.spare)}
elseif ours[1] and redis.call('HLEN', lock_key) == 1 then
    -- The record was lost.
    local fence, spare = fences(clock.us, was.fence, was.spare, both[2])
    bad = not fence and spare or failed(redis.pcall('SET', record_key,
        holder.sign(was, it, fence, spare, 0, '-'), 'PX', lease + life))
    if not bad then
        redis.pcall('ZREM', queue_key, own)
    end
    return bad or {HELD, fence, left, spare}
elseif ours[1] then
    -- What is left of a grant that was neither finished nor taken back is no hold.
    bad = failed(redis.pcall('HDEL', lock_key, claim))
    if bad then
        return bad
    end
end

local score = redis.call('ZSCORE', queue_key, own)
local waiting = queue.entry(own, score or '0')
if waiting.band == queue.VOID then
    return redis.error_reply('LKVOID the claim was given up')
end

-- Whether somebody alive stands before this one, and one of the two wants to be
-- served in order. So it is taken to be where it cannot be told, or where more
-- are dead than one call looks at: the next touch parks them, not this.
local function is_passing()
    local first = queue.first(queue_key, 1, '1')
    local head = first[1] and queue.entry(first[1], first[2])
    if not first[1] or first[1] == own
            or it.mode ~= 'f' and head and head.mode == 'l' then
        return false
    end
    local found, before = queue.first(queue_key, 1, '64'), {}
    for i = 1, #found, 2 do
        if found[i] == own then
            found = {}
            break
        end
        local one = queue.entry(found[i], found[i + 1])
        before[#before + 1] = one
            and string.find(holder.MODES, one.mode, 1, true) and one or nil
    end
    if alive.look(queue_key, before) then
        return true
    end
    for i = 1, #before do
        if before[i].lives then
            return it.mode == 'f' or before[i].mode == 'f'
        end
    end
    return #found == 128
end

local function take_it()
    local fence, spare = fences(clock.us, was.fence, was.spare, both[2])
    if not fence then
        return spare
    end
    -- Redisson's count first: one that is ahead does no harm.
    if both[2] or interop == '1' then
        bad = failed(redis.pcall('SET', token_key,
            string.format('%.0f', fence + spare), 'KEEPTTL'))
        if bad then
            return bad
        end
    end
    local text = how == 's' and turned.theirs
        and (turns.seen(turned) or was.turn) or turns.taken(turned)
    bad = take(lock_key, record_key, claim, lease, life, holder.sign(was, it,
        fence, spare, waiting.ticket, text))
    if not bad and score then
        redis.pcall('ZREM', queue_key, own)
    end
    return bad or {HELD, fence, tonumber(lease), spare}
end

-- Waits, or goes on waiting. next tells who is first behind those who will not
-- hand over.
local function stand(passes)
    local place = waiting.ticket
    local head = queue.first(queue_key, 1, '1')[1]
    if not score then
        local at, is_new
        place, at, is_new = ticket(queue_key, clock.us, tonumber(was.floor),
            queue.score(1, 0), queue.score(2, 0))
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
    local contends = 0
    if head == own or not head and not score then
        contends = left == -2 and (passes and 0 or 2) or ours[2] and 0 or 1
    end
    if contends == 1 then
        local text = turns.seen(turned)
        if text then
            holder.turn(record_key, was, text, life)
        end
    end
    return {QUEUED, left == -2 and 0 or left, place, contends}
end

if left == -2 then
    local passes = is_passing()
    local mine = how == 't' or how == 's' or turns.left(turned,
        turned.side ~= 'p') == 0
    if not passes and mine then
        return take_it()
    elseif how == 'q' then
        return stand(passes)
    end
    left = -1
elseif not ours[2] then
    bad = holder.stranger(lock_key)
    if bad then
        return bad
    end
end
if how == 'q' then
    return stand(false)
elseif how == 's' then
    redis.pcall('SET', spin_key, '1', 'PX', '1000')
end
return {BUSY, left}
