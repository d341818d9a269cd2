-- SPDX-License-Identifier: MIT
-- acquire: take permits if they are free and nobody waits, else queue for them.
--
-- how: q queues, t tries. own is the claim's member, which says how many. sets: s
-- sets N to number where none is set; c does so, and refuses another; r sets it
-- whatever it was; - leaves it alone. held: for another left ms. left: until the
-- next lease ends, -1: that cannot be told; 0: a touch has to see to it that what
-- is free goes to those who wait. next 1: it is the first, and may wait for those
-- who will not hand over. short: it needs more than N; other: N is another.
--
-- Invariants: what is free and what is taken add up to N. Sent again it gives no
-- second ticket and no second hold, and changes no lease. A full server refuses
-- it before anything is written. Nobody alive who waits is passed by.
-- needs: books clock failed permits queue room sides ticket

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key, channel = channel, db = db}
local bad = books.look(to)
if bad then
    return bad
end
books.recover(to, life)
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
    return {OTHER}
end
if need > wanted then
    return {SHORT}
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
    bad = books.move(to, {it}, out, sides.read(books.was.turn), life)
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
