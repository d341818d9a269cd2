-- SPDX-License-Identifier: MIT
-- acquire: take permits if they are free and nobody waits, else queue for them.
--
-- how: q queues, t tries. own is the claim's member, which says how many. sets: s
-- sets N to number where none is set; c does so, and refuses another; r sets it
-- whatever it was; - leaves it alone. held: for another left ms. left: until the
-- next lease ends, -1: that cannot be told; 0: a touch has to see to it that what
-- is free goes to those who wait. next 1: it is the first, and may wait for those
-- who will not hand over. scant: it needs more than N, which is all; other: N is another, all. One
-- permit that is free is taken, where nobody waits, before `rest`; and where there
-- is none a claim for one queues there, behind ours alone.
--
-- Invariants: what is free and what is taken add up to N. Sent again it gives no
-- second ticket and no second hold, and changes no lease. A full server refuses
-- it before anything is written. Nobody alive who waits is passed by.
-- needs: fences permits seat ticket

local both = redis.call('MGET', counter_key, record_key)
local layout, last, spare, floor, turned, more = record.only(both[2] or '',
    layout, fence, spare, floor, turn, more)
local number_was, ends = sums.only(more or '', number, ends)
local free = string.match(both[1] or '', '^-?%d+$')
local taken = free and redis.pcall('ZCARD', zset_key)
local all = type(taken) == 'number' and free + taken
local nonce, need, base, inbox, reason = member.only(own, nonce, need, base,
    inbox, reason)
local id = permits.ids(claim, 1)[1]
local broken

-- Plain is one permit of an N that Redisson left alone, for a claim that is not known.
if need == '1'
        and layout == form.layout_semaphore
        and all == tonumber(number_was or '')
        and (sets == '-' or sets == 's' or all == tonumber(number))
        and redis.pcall('HGET', holders_key, id) == false then
    local is_waited = redis.call('EXISTS', queue_key) == 1
    local time = redis.call('TIME')
    local us = time[1] * 1000000 + time[2]
    local ms = math.floor(us / 1000)
    local fence = fences(us, last, spare, false)
    if tonumber(free) > 0
            and not is_waited
            and turned == '-'
            and fence then
        local at, since = string.format('%.0f', fence),
            string.format('%.0f', ms)
        local skew = base == 's' and permits.SKEW or 0
        local till = string.format('%.0f', ms + lease + skew)
        local is_new
        is_new, broken = seat(counter_key, zset_key, holders_key, record_key,
            id, till, hold.write({claim = claim, fence = at, need = '1',
                nonce = nonce, ticket = '0', since = since, skew = skew,
                flag = '-', inbox = inbox, reason = reason}), lease + skew,
            life, record.write({layout = form.layout_semaphore, fence = at,
                spare = '0', floor = floor, flag = '-', turn = '-',
                more = sums.write({number = number_was,
                    ends = till - ends > 0 and till or ends}),
                since = since, member = own}), true)
        if is_new and not broken then
            return {HELD, fence, tonumber(lease)}
        end
    elseif tonumber(free) < 1
            and all > 0
            and how == 'q'
            and interop == '0'
            and redis.call('HLEN', holders_key) == taken then
        -- All permits are ours: it waits for nobody who hands none on.
        local left = redis.call('ZRANGE', zset_key, '0', '0', 'WITHSCORES')[2]
            - ms
        local place, score, is_new = ticket(queue_key, us, tonumber(floor),
            '281474976710656', '562949953421312')
        if left > 0
                and left < 1e13
                and place
                and place * 16 <= us + 1000000 then
            local added = redis.pcall('ZADD', queue_key, 'NX', score, own)
            if added == 1 and is_new then
                added = redis.pcall('PEXPIRE', queue_key, '660000')
                if added ~= 1 then
                    redis.pcall('ZREM', queue_key, own)
                end
            end
            if added ~= 0 then
                return added == 1 and {QUEUED, left, place, 0} or added
            end
        end
    end
end

-- rest
-- needs: books clock failed queue room sides

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key, channel = channel, db = db}
local bad = books.look(to)
if broken then
    books.undo(to, {id}, 0)
    return broken
elseif bad then
    return bad
end
books.recover(to)
local it = member.read(own)
local held
held, bad = permits.find(to, claim)
if bad then
    return bad
elseif held and held.till and held.till > clock.ms and held.flag == 'v' then
    return redis.error_reply('LKVOID the hold was revoked')
elseif held and held.till and held.till > clock.ms then
    return {HELD, tonumber(held.fence), held.till - clock.ms}
end
local score, band = redis.call('ZSCORE', queue_key, own), nil
it.text, it.ticket, it.ms = own, 0, tonumber(lease)
if score then
    band, it.ticket = queue.parts(tonumber(score))
end
if band == queue.VOID then
    return redis.error_reply('LKVOID the claim was given up')
end

-- Sees to it that there is a number, and the right one.
local wanted, need = books.all, tonumber(it.need)
if not wanted and sets == '-' then
    return {UNSET}
elseif not wanted or sets == 'r' then
    wanted = tonumber(number)
elseif sets == 'c' and wanted ~= tonumber(number) then
    return {OTHER, wanted}
end
if need > wanted then
    return {SCANT, wanted}
end
local is_set = wanted ~= books.all
bad = is_set and books.set(to, wanted, life)
if bad then
    return bad
end

-- Those who wait before it have what they need first.
local out = books.free < need and books.ended(to, interop) or {}
local ahead, first = 0, nil
if books.free + #out >= need and redis.call('EXISTS', queue_key) == 1 then
    ahead, first = room.ahead(to, own)
    out = ahead > 0 and books.ended(to, interop) or out
end
local serves = first and tonumber(first.need) <= books.free + #out
local fence
if books.free + #out >= need + ahead then
    bad = #out > 0 and books.try_open(to)
        or books.move(to, {it}, out, sides.read(books.was.turn), life)
    fence = not bad and it.fence
end
if is_set then
    books.tell(to)
end
if serves and (fence or how ~= 'q') then
    room.announce(to, first)
end
if bad then
    return bad
elseif fence then
    return {HELD, fence, it.ms}
end

local left = books.left(to)
if how ~= 'q' then
    return {BUSY, left}
end
local place = it.ticket
local head = queue.first(queue_key, 1, '1')[1]
if not score then
    local at, is_new
    place, at, is_new = ticket(queue_key, clock.us, tonumber(books.was.floor),
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
books.tidy(to)
local is_next = head == own or not head and not score
return {QUEUED, (serves or is_set) and 0 or left, place,
    is_next and books.has_others(to) and 1 or 0}
