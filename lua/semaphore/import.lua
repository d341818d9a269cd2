-- SPDX-License-Identifier: MIT
-- import: permits that were exported become those of a new claim, with a new fence
-- and their lease begun again. own is the new claim's member; how many it has the
-- old one knows.
--
-- code: 0 it does not hold, 3 the same claim under another fence, 4 it was revoked.
--
-- Invariants: of those who import one claim one is told *held*: the old claim is
-- gone then. The same new claim may ask again, and gets the same fence. A lease is
-- only lengthened. On a mismatch nothing changes. A full server does not refuse
-- it. A hold without a record is nobody's to import, nor one whose lease has ended,
-- whether its permits are gone or not.
-- needs: books clock permits

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key}
local bad = books.look(to)
if bad then
    return bad
end
books.recover(to)
local it = member.read(own)
local new, old
new, bad = permits.find(to, it.claim)
if not bad then
    old, bad = permits.find(to, claim)
end
local one = new and new.till and new or old
if bad then
    return bad
elseif not one or not one.till or one.till <= clock.ms or not books.all then
    return {NOT_HELD, 0}
elseif one == old and old.fence ~= fence then
    return {NOT_HELD, 3}
elseif one.flag == 'v' then
    return {NOT_HELD, 4}
elseif one == new then
    return {HELD, tonumber(new.fence), new.till - clock.ms, tonumber(new.need)}
end
if books.was.fence + books.was.spare < tonumber(fence) then
    books.was.fence, books.was.spare = fence, '0' -- the record was lost
end
it.text, it.need, it.ticket = own, old.need, 0
it.ms = math.max(old.till - clock.ms, tonumber(lease))
bad = books.open(to) or books.move(to, {it}, old.ids, nil, life)
return bad or {HELD, it.fence, it.ms, tonumber(it.need)}
