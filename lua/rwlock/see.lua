-- SPDX-License-Identifier: MIT
-- see: who holds the lock, the writer first, and who waits for it, by ticket; 64
-- of each.
--
-- Invariants: nothing is changed, but a replica refuses it. Of a holder that is
-- not one of ours fence and held are 0, and the reason is empty. A writer is shown
-- without its `:write`, an upgrade as one that waits to write. A reader whose
-- lease has run out is none. Behind the mode of one that is revoked stands v. No nonce is told.
-- needs: add failed clock hold readers queue waiting master

local LISTED = 64

local bad = master(lock_key)
if bad then
    return bad
end
clock.look()
bad = hold.look(lock_key, record_key, '-')
if bad then
    return bad
end

local function add_holder(list, claim, count, left, grant, mode)
    add(list, group.holder({claim = claim, count = tonumber(count) or 0,
        fence = grant and tonumber(grant.fence) or 0,
        held = grant and math.max(clock.ms - grant.since, 0) or 0, left = left,
        reason = grant and grant.reason or '',
        mode = grant and grant.flag == 'v' and mode .. 'v' or mode}))
end

-- For how long the last of a reader's holds has its lease; -2: none does.
local function left_of(claim, count)
    local left = -2
    for i = 1, math.min(tonumber(count) or 1, readers.HOLDS) do
        left = math.max(left, redis.call('PTTL', readers.key(lock_key, claim,
            i)))
    end
    return left
end

local fields = redis.call('HGETALL', lock_key)
local holders, readings = {}, {}
for i = 1, #fields, 2 do
    local field, count = fields[i], fields[i + 1]
    local claim = string.match(field, '^(.*):write$')
    if claim and hold.mode == 'write' then
        add_holder(holders, claim, count, redis.call('PTTL',
            hold.marks.aside == claim and readers.key(lock_key, claim)
                or lock_key), hold.was.claim == claim and hold.was, 'w')
    elseif not claim and field ~= 'mode'
            and #readings < LISTED * #group.holder then
        local left = left_of(field, count)
        local grant = left ~= -2 and reader.read(redis.call('HGET', holders_key,
            field) or '')
        if left ~= -2 then
            add_holder(readings, field, count, left, grant,
                grant and grant.mode or 'r')
        end
    end
end
for i = 1, math.min(#readings, LISTED * #group.holder - #holders) do
    holders[#holders + 1] = readings[i]
end

-- The first of each band, parked ones among them.
local firsts, number = {}, 0
for _, band in ipairs({0, 1, 2, 3, queue.PARKED}) do
    local some, entries = waiting.between(queue_key, queue.score(band, 0),
        '(' .. queue.score(band + 1, 0))
    number = number + some
    for i = 1, #entries do
        firsts[#firsts + 1] = entries[i]
    end
end
table.sort(firsts, function(a, b)
    return a.ticket < b.ticket or a.ticket == b.ticket and a.band < b.band
end)
local waiters = {}
for i = 1, math.min(#firsts, LISTED) do
    local it = firsts[i]
    waiting.tell(waiters, it, it.mode == 'x' and 'w' or it.mode)
end
return {SEEN, number, holders, waiters}
