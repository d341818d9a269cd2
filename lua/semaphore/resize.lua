-- SPDX-License-Identifier: MIT
-- resize: make N another number, and hand on what became free.
--
-- Invariants: nobody loses what it has: fewer than none may be free then. A full
-- server refuses it before anything is written.
-- needs: books line permits queue room sides

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key, channel = channel, db = db,
    life = tonumber(life)}
local bad = books.look(to)
if bad then
    return bad
end
books.recover(to)
local n, old = tonumber(number), books.free
local is_waited = redis.call('ZCARD', queue_key) > 0
if books.all == n then
    return {RESIZED, 0, 0}
end
bad = books.set(to, n, life)
if bad then
    return bad
elseif old and books.free < old then
    room.tell_the_short(to)
end

local found, denied, begun = {ins = {}, parked = {}, more = 0}, nil, nil
local turned, out = sides.read(books.was.turn), {}
if is_waited then
    out = books.ended(to, interop)
    found, denied = room.find(to, books.free + #out, {}, {}, nil)
    begun = found.head and not denied and books.free + #out > 0
        and sides.due(turned, interop == '1' or found.heard > 0)
end
if begun then
    denied = books.note(to, {turn = begun}, life) or denied
end
local is_given = false
if #found.ins > 0 and not begun and not denied then
    bad, denied = room.give(to, found.ins, out, turned, {}, false)
    is_given, denied = not bad, bad or denied
end
if not is_given then
    local head = found.ins[1] or found.head
    if head and (denied or begun) then
        denied = room.announce(to, head) or denied
    end
    denied = books.tell(to) or denied
end
denied = line.park(queue_key, found) or denied
return {RESIZED, found.more, denied and 1 or 0}
