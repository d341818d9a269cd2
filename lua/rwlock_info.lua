-- SPDX-License-Identifier: MIT
-- rwlock_info: who holds the lock and who waits for it.
-- uses: part_error part_master part_rw_record part_clock part_lease part_line
-- uses: part_list part_rw_readers part_rw_share
-- texts: who holds and waits, in arrays
--
-- KEYS[1]  lock      hash    mode -> read or write; reader -> its holds; or
--                            <writer>:write -> its holds; its TTL is the lease
-- KEYS[2]  state     hash    record of the last writer, the phase, and the turn
-- KEYS[3]  queue     zset    claim that waits to write -> ticket
-- KEYS[4]  tickets   hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped   zset    claim passed over -> since when
-- KEYS[6]  readers   zset    claim that waits to read -> ticket
-- KEYS[7]  void      zset    claim that must not acquire -> until when
-- KEYS[8]  holders   hash    claim that reads -> record of its grant
-- KEYS[9]  spin      string  there while a client spins
-- KEYS[10] upgraders zset    claim that waits to read, to write later
-- KEYS[11] upgrades  zset    claim that waits to write, and reads already
-- KEYS[12] none      not used
--
-- returns  {{owner, count, fence, held ms, lease left in ms, reason, mode,
--            ...},  64 of them at the most, the writer first
--           number of waiters,
--           {claim, need, ticket, waited ms, reason, mode, ...}}  the first 64
--               by ticket
--
-- Invariants: nothing is changed. Of a holder that is not one of ours fence and
-- held are 0, and the reason is empty. A writer is shown without its `:write`.
-- A reader whose lease has run out is none.

local refused = replica_refuses()
if refused then
    return refused
end

local LISTED, WORDS = 64, 7
local parties = {}

local function add(at, claim, count, left, mark)
    local held = mark and math.max(clock.ms - mark.since, 0) or 0
    local party = {claim, tonumber(count) or 0, mark and mark.fence or 0, held,
        left, mark and mark.reason or '', mark and mark.mode or 'r'}
    for i = 1, WORDS do
        table.insert(parties, at + i - 1, party[i])
    end
end

local function add_writer(field, count)
    local claim, mark = string.sub(field, 1, -7), {fence = 0, since = clock.ms,
        reason = '', mode = 'w'}
    if claim == record.claim then
        local of = redis.call('HMGET', state, 'since', 'reason')
        mark.fence = tonumber(record.fence) or 0
        mark.since = tonumber(of[1]) or clock.ms
        mark.reason = of[2] or ''
    end
    add(1, claim, count, redis.call('PTTL', record.aside == claim
        and timeout_key(claim) or lock), mark)
end

local function add_reader(field, count)
    local left = -2
    for i = 1, math.min(tonumber(count) or 1, 64) do
        left = math.max(left, redis.call('PTTL', timeout_key(field, i)))
    end
    if left ~= -2 then
        add(#parties + 1, field, count, left,
            mark_of(redis.call('HGET', holders, field)))
    end
end

-- The waiters in the order of their tickets, and an upgrade as what it is.
local function waiters()
    local all, sorted, flat = list.waiters(), {}, {}
    for i = 1, #all, 6 do
        sorted[#sorted + 1] = {unpack(all, i, i + 5)}
    end
    table.sort(sorted, function(a, b) return a[3] < b[3] end)
    for i = 1, math.min(#sorted, LISTED) do
        local party, _ = sorted[i], nil
        if party[6] == 'x' then
            _, party[5] = base_of({kind = 'x', reason = party[5]})
            party[6] = 'w'
        end
        for j = 1, 6 do
            flat[#flat + 1] = party[j]
        end
    end
    return flat
end

clock.look()
local fields = redis.call('HGETALL', lock)
for i = 1, #fields, 2 do
    if string.sub(fields[i], -6) == ':write' and record.mode == 'write' then
        add_writer(fields[i], fields[i + 1])
    elseif string.sub(fields[i], -6) ~= ':write' and fields[i] ~= 'mode'
            and #parties < LISTED * WORDS then
        add_reader(fields[i], fields[i + 1])
    end
end
return {{unpack(parties, 1, LISTED * WORDS)}, list.length(), waiters()}
