-- SPDX-License-Identifier: MIT
-- close: end a claim, whatever it has, and hand its permits on.
--
-- why: r releases, l leaves, f forces the end of a claim, of the hold that has a
-- permit, in hexadecimal, or of all where claim is empty. own and, if it may not
-- acquire any more, stone come with l. was: 0 it had nothing, 1 it waited, 2 it
-- held. code: 0 it holds nothing, or not all that it had, and the rest is given
-- back; 3 the same claim under another fence. One permit is given back before `rest`
-- where nobody waits, and handed over where the first waits for one as well, and was
-- heard of just now.
--
-- Invariants: on a mismatch nothing changes. Afterwards the claim neither holds
-- nor waits. A full server does not refuse it. Each permit is given back once.
-- Those who get permits have them before the others' are taken.
-- calls: PUBLISH SPUBLISH PUBSUB|NUMSUB PUBSUB|SHARDNUMSUB
-- needs: failed fences inbox_of permits seat

-- As publish and audience do it.
local shard, bare = string.byte(channel) == 43, channel
local tells, counted = 'PUBLISH', 'NUMSUB'
if shard then
    tells, counted, bare = 'SPUBLISH', 'SHARDNUMSUB', string.sub(channel, 2)
end
-- What a hand-over that was stopped has written, and why it was.
local next_id, broken
local both = why == 'r' and redis.pcall('MGET', counter_key, record_key) or {}
local free = string.match(both[1] or '', '^-?%d+$')
local layout, before, spare, floor, turned, more = record.only(both[2] or '',
    layout, fence, spare, floor, turn, more)
local id = permits.ids(claim, 1)[1]
-- Without a record the name is no other kind's.
local text = free and (not both[2] or layout == form.layout_semaphore)
    and redis.pcall('HGET', holders_key, id)
local owner, last, need = hold.only(type(text) == 'string' and text or '',
    claim, fence, need)
local is_waited = owner == claim and last == fence and need == '1'
    and redis.pcall('EXISTS', queue_key)

if is_waited == 0 then
    -- Paid before it goes: that can be taken back by whoever may do it. What a full
    -- server refuses, and a permit that stays, are left to `rest`.
    local reply = redis.pcall('INCRBY', counter_key, '1')
    if not failed(reply) then
        if redis.pcall('ZREM', zset_key, id) == 1 then
            redis.pcall('HDEL', holders_key, id)
            reply = reply > 0 and redis.pcall(tells, bare, reply)
            return {CLOSED, 2, 0, failed(reply) and 1 or 0}
        end
        redis.pcall('INCRBY', counter_key, '-1')
    end
elseif is_waited == 1
        and free == '0'
        and interop == '0'
        and type(redis.pcall('ZSCORE', zset_key, id)) == 'string' then
    local head = redis.call('ZRANGEBYSCORE', queue_key, '281474976710656',
        '(562949953421312', 'WITHSCORES', 'LIMIT', '0', '1')
    local to, nonce, mode, wants, lease, base, inbox, reason = member.only(
        head[1] or '', claim, nonce, mode, need, lease, base, inbox, reason)
    local ends = sums.only(more or '', ends)
    local is_plain = mode == 'p'
        and wants == '1'
        and #lease < 13
        and string.find(to, ':%d+$')
        and turned == '-'
        and ends
    local ear = is_plain and inbox_of(to, inbox, queue_key)
    if shard then
        ear = ear and string.match(ear, '^%+(.*)')
    end
    local counts = ear and redis.pcall('PUBSUB', counted, bare, ear) or {}
    local is_heard = counts[2] == 0
        and counts[4] > 0
    local time = redis.call('TIME')
    local us = time[1] * 1000000 + time[2]
    local ms = math.floor(us / 1000)
    local number = is_heard and head[2] - 281474976710656
    local sign = number and number * 16 / 1000 - ms
    if number and math.abs(sign) >= 3000 then
        -- Its client may have been heard of since it queued.
        sign = -ms - (redis.call('ZSCORE', queue_key,
            string.match(to, '^(.*):')) or 0)
    end
    local taken = redis.call('ZCARD', zset_key)
    local first = redis.call('ZRANGE', zset_key, '0', '0', 'WITHSCORES')
    local fence_next = number
        and math.abs(sign) < 3000
        and first[2] - ms > 0
        and fences(us, before, spare, false)
    -- A full server lets through what follows, and what may be added may be removed.
    if fence_next and redis.pcall('ZREM', zset_key, '') == 0 then
        local at, since = string.format('%.0f', fence_next),
            string.format('%.0f', ms)
        number = string.format('%.0f', number)
        local skew = base == 's' and permits.SKEW or 0
        local part = tonumber(lease) < 3000 and lease or '3000'
        local till = string.format('%.0f', ms + part + skew)
        next_id = permits.ids(to, 1)[1]
        local is_new
        is_new, broken = seat(counter_key, zset_key, holders_key, record_key,
            next_id, till, hold.write({claim = to, fence = at, need = '1',
                nonce = nonce, ticket = number, since = since, skew = skew,
                flag = '-', inbox = inbox, reason = reason}), part + skew,
            life, record.write({layout = form.layout_semaphore, fence = at,
                spare = '0', floor = number - floor > 0 and number or floor,
                flag = '-', turn = '-', more = sums.write({number = taken,
                    ends = till - ends > 0 and till or ends}),
                since = since, member = head[1]}), false)
        if is_new and not broken then
            broken = failed(redis.pcall('ZREM', queue_key, head[1]))
        end
        if is_new and not broken then
            redis.pcall('ZREM', zset_key, id)
            redis.pcall('HDEL', holders_key, id)
            local told = redis.pcall(tells, ear, grant.write({word = 'grant',
                db = db, family = 'semaphore', claim = to, nonce = nonce,
                ticket = number, fence = at, spare = 0, lease = part,
                name = counter_key}))
            return {CLOSED, 2, 0, failed(told) and 1 or 0}
        end
    end
end

-- rest
-- needs: books clock line message queue room sides

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key, channel = channel, db = db,
    life = tonumber(life)}
local bad = books.look(to)
if broken then
    books.undo(to, {next_id}, 1)
    bad = books.look(to)
end
if bad then
    return bad
end
books.recover(to)

-- The holds that end, and their permits, which are in the zset; all permits of a
-- claim that lost some before.
local ends, out, lost = {}, {}, nil

local function find_all()
    out = redis.call('ZRANGE', zset_key, '0', '-1')
    local is_there, known = {}, redis.call('HGETALL', holders_key)
    for i = 1, #out do
        is_there[out[i]] = true
    end
    for i = 1, #known, 2 do
        ends[#ends + 1] = is_there[known[i]] and hold.read(known[i + 1]) or nil
    end
end

if why == 'f' and claim == '' then
    find_all()
else
    local it, id
    if why == 'f' then
        it, id, bad = permits.named(to, claim)
    else
        it, bad = permits.find(to, claim)
    end
    if bad then
        return bad
    elseif why == 'r' and (not it or it.fence ~= fence) then
        return {NOT_HELD, it and 3 or 0}
    elseif it then
        ends, out, lost = {it}, it.there, not it.till and it.ids
    elseif id and redis.call('ZSCORE', zset_key, id) then
        out = {id}
    end
end
if why == 'f' and #out == 0 then
    return {NOT_HELD, 0}
end
local score = why == 'l' and redis.call('ZSCORE', queue_key, own)
if score and queue.parts(tonumber(score)) == queue.VOID then
    score = false -- it stays void
end
local has = #ends + #out > 0 and 2 or score and 1 or 0

-- All is read before the first write.
local is_waited = redis.call('EXISTS', queue_key) == 1
local turned = sides.read(books.was.turn)
local found, denied, begun = {ins = {}, parked = {}, more = 0}, nil, nil
if is_waited and books.free and (#out > 0 or score) then
    local is_out, all = {}, {}
    for i = 1, #out do
        is_out[out[i]], all[i] = true, out[i]
    end
    for _, id in ipairs(books.ended(to, interop)) do
        all[#all + 1] = not is_out[id] and id or nil
    end
    found, denied = room.find(to, books.free + #all, {}, {}, own)
    if found.head and not denied and books.free + #all > 0 then
        begun = #out > 0 and sides.due(turned,
            interop == '1' or found.heard > 0)
    end
    if #found.ins > 0 and not begun and not denied then
        out = all
    end
end

if why == 'l' then
    bad = line.leave(queue_key, own, score, stone)
    if bad then
        return bad
    end
end
local is_given = false
if #found.ins > 0 and not begun and not denied then
    bad, denied = room.give(to, found.ins, out, turned, {}, false)
    is_given, denied = not bad, bad or denied
end
if not is_given then
    bad = #out > 0 and books.take_back(to, out)
    if bad then
        return bad
    end
    bad = begun and books.note(to, {turn = begun}, life)
    denied = denied or bad or nil
    local head = found.ins[1] or found.head
    if head and (denied or begun) then
        denied = room.announce(to, head) or denied
    end
    denied = #out > 0 and books.tell(to) or denied
end
denied = line.park(queue_key, found) or denied
for i = 1, why == 'f' and #ends or 0 do
    denied = failed(message.revoked(ends[i], db, 'semaphore', counter_key))
        or denied
end
if is_waited and not stone then
    line.drop(queue_key)
end
if lost then
    redis.pcall('HDEL', holders_key, unpack(lost))
end
if why == 'r' and lost then
    return {NOT_HELD, 0}
end
return {CLOSED, has, found.more, denied and 1 or 0}
