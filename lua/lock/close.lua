-- SPDX-License-Identifier: MIT
-- close: end a claim, whatever it has, and hand the name on.
--
-- why: r releases, l leaves, f forces the end of claim, or of all holders where
-- that is empty. own and, if it may not acquire any more, stone come with l.
-- was: 0 it had nothing, 1 it waited, 2 it held. code: 0 nobody holds, 2 another
-- does, 3 the same claim under another fence. A hold that nobody waits for is
-- ended before `rest`, and one that a waiter who was heard of just now waits for,
-- and nobody else, is handed over.
--
-- Invariants: on a mismatch nothing changes. Afterwards the claim neither holds
-- nor waits. A full server does not refuse it. One waiter at most is made the
-- owner, and no other is told anything. The name is never without an owner in
-- between.
-- calls: PUBLISH SPUBLISH PUBSUB|NUMSUB PUBSUB|SHARDNUMSUB
-- needs: fences hand inbox_of

-- As publish and audience do it.
local shard, bare = string.byte(channel) == 43, channel
local tells, counted = 'PUBLISH', 'NUMSUB'
if shard then
    tells, counted, bare = 'SPUBLISH', 'SHARDNUMSUB', string.sub(channel, 2)
end
if not record_key then
    local ended = redis.pcall('HDEL', lock_key, claim)
    if ended ~= 1 then
        return ended == 0 and {NOT_HELD, 0} or ended
    end
    ended = redis.pcall(tells, bare, '0')
    return {CLOSED, 2, 0, type(ended) == 'table' and 1 or 0}
end

local both = redis.call('MGET', record_key, token_key)
local layout, last, turned_to, owner = record.only(both[1] or '', layout, fence,
    turn, claim)
-- What is not plain, and what went wrong, is left to the rest: by how many of
-- Redisson's the end of the hold was heard, the error of a hand-over.
local heard, broken
if why == 'r' and owner == claim and last ~= fence then
    return {NOT_HELD, 3}
elseif why == 'r' and layout == form.layout_lock and owner == claim
        and string.find(turned_to, '^[-o]') then
    local there = redis.call('EXISTS', queue_key, fairq_key, spin_key)
    local first = there == 1 and redis.call('ZRANGEBYSCORE', queue_key,
        '281474976710656', '(562949953421312', 'WITHSCORES', 'LIMIT', '0', '1')
    if there == 0 then
        if redis.pcall('HDEL', lock_key, claim) == 1 then
            heard = redis.pcall(tells, bare, '0')
        end
        if heard == 0 then
            return {CLOSED, 2, 0, 0}
        end
    elseif first and first[1] and interop == '0' and not both[2]
            and redis.call('HEXISTS', lock_key, claim) == 1 then
        -- The queue is there, so of the three it is the one.
        local to, nonce, mode, lease, inbox = member.only(first[1], claim,
            nonce, mode, lease, inbox)
        local ear = (mode == 'l' or mode == 'f') and #lease < 13
            and string.find(to, ':%d+$') and inbox_of(to, inbox, queue_key)
        if shard then
            ear = ear and string.match(ear, '^%+(.*)')
        end
        local counts = ear and redis.pcall('PUBSUB', counted, bare, ear) or {}
        local time = redis.call('TIME')
        local us = time[1] * 1000000 + time[2]
        local ms, number = math.floor(us / 1000), first[2] - 281474976710656
        local since, met = turn.only(turned_to, since, met)
        local run = ms - (since or ms)
        if counts[2] == 0 and counts[4] > 0
                and math.abs(ms - number * 16 / 1000) < 3000
                and run >= 0 and run < 1000
                and math.abs(ms - (met or 0)) > 10000 then
            local last_spare, floor = record.only(both[1], spare, floor)
            local at, over = fences(us, last, last_spare, false)
            if at then
                at, number = string.format('%.0f', at),
                    string.format('%.0f', number)
                ms = string.format('%.0f', ms)
                local part = tonumber(lease) < 3000 and lease or '3000'
                broken = hand(lock_key, record_key, queue_key, first[1], to,
                    claim, part, record.write({layout = form.layout_lock, fence = at,
                        spare = over, floor = number - floor > 0 and number
                            or floor, flag = '-',
                        turn = since and turned_to or turn.write({side = 'o',
                            since = ms, length = '0', met = '0', vain = '0'}),
                        more = '-', since = ms, member = first[1]}),
                    string.format('%.0f', lease + life))
                if broken then
                    broken = {first[1], first[2]}
                else
                    counts = redis.pcall(tells, ear, grant.write({
                        word = 'grant', db = db, family = 'lock', claim = to,
                        nonce = nonce, ticket = number, fence = at,
                        spare = over, lease = part, name = lock_key}))
                    return {CLOSED, 2, 0, type(counts) == 'table' and 1 or 0}
                end
            end
        end
    end
end

-- rest
-- needs: failed clock past holder give line sweep message

local was, wrong = past.read(both[1], form.layout_lock)
if not was then
    return wrong
end
clock.look()
local to = {lock = lock_key, record = record_key, queue = queue_key,
    token = token_key, fairq = fairq_key, channel = channel, db = db,
    life = life}
if heard then
    local begun = not failed(heard) and turns.due(turns.read(was.turn), true)
    if begun then
        holder.turn(record_key, was, begun, life)
    end
    return {CLOSED, 2, 0, failed(heard) and 1 or 0}
elseif broken then
    wrong = give.undo(to, queue.entry(broken[1], broken[2]), {claim})
    return wrong or {CLOSED, 2, 0, 1}
end
local held = redis.pcall('HMGET', lock_key, claim, was.claim)
if failed(held) then
    return holder.wrong(held)
end
local there = redis.call('HLEN', lock_key)
local fields = held[1] and {claim} or {}
if why == 'f' and claim == '' and there > 0 then
    wrong = not held[2] and holder.stranger(lock_key)
    if wrong then
        return wrong
    end
    fields = redis.call('HKEYS', lock_key)
elseif held[1] and claim == was.claim and there > 1 then
    -- With the owner goes what was left of grants that could not be taken back.
    for _, field in ipairs(redis.call('HKEYS', lock_key)) do
        fields[#fields + 1] = field ~= claim and field or nil
    end
end
if #fields == 0 and why ~= 'l' then
    return {NOT_HELD, there > 0 and 2 or 0}
end
local score = why == 'l' and redis.call('ZSCORE', queue_key, own)
if score and queue.parts(tonumber(score)) == queue.VOID then
    score = false -- it stays void
end
local has = #fields > 0 and 2 or score and 1 or 0
local turned = turns.read(was.turn)
local is_ours_to_give = #fields == there

-- All is read before the first write.
local found, bad, head = {parked = {}, more = 0, heard = 0}, nil, nil
if is_ours_to_give then
    found, bad, head = give.find(queue_key, channel, {}, {}, own)
end
local denied, begun = bad, nil
if found and is_ours_to_give then
    begun = turns.due(turned, turns.are_seen(turned, interop, found.heard,
        spin_key, fairq_key, channel))
    if #fields == 0 and (begun
            or turns.left(turned, turned.side ~= 'p') > 0) then
        head, found.it = found.it, nil -- the name lies free for the others
    end
end
found = found or {parked = {}, more = 0, it = nil}
local gone = #found.parked > 0 and sweep.find(queue_key) or {}

-- Ends the hold and gives the name to nobody.
local function set_free()
    bad = #fields > 0 and failed(redis.pcall('HDEL', lock_key, unpack(fields)))
    if bad then
        return bad
    end
    if begun then
        denied = holder.turn(record_key, was, begun, life) or denied
    end
    if #fields > 0 then
        denied = failed(turns.tell(fairq_key, channel)) or denied
    end
    head = found.it or head
    if head then
        denied = failed(message.opened(head, queue_key, db,
            'lock', queue.text(head.ticket), lock_key)) or denied
    end
    return nil
end

if why == 'l' then
    bad = line.leave(queue_key, own, score, stone)
    if bad then
        return bad
    end
end
local grant, undone
if found.it and not begun then
    grant, bad, undone = give.hand(to, found.it, fields, was, both[2], interop,
        turned, nil)
    denied = bad or failed(give.tell(to, found.it, grant))
end
local refused
if is_ours_to_give and not grant and not undone then
    refused = set_free()
elseif not is_ours_to_give and #fields > 0 then
    refused = failed(redis.pcall('HDEL', lock_key, unpack(fields)))
end
if refused then
    return refused
end
denied = line.park(queue_key, found) or denied
if why == 'f' and held[2] and (claim == '' or claim == was.claim) then
    denied = failed(message.revoked(was, db, 'lock', lock_key))
        or denied
end
if not found.it and not stone and not head
        and redis.pcall('ZCOUNT', queue_key, '0', '+inf') == 0 then
    redis.pcall('DEL', queue_key)
elseif #gone > 0 then
    redis.pcall('ZREM', queue_key, unpack(gone))
end
return {CLOSED, has, found.more, denied and 1 or 0}
