-- SPDX-License-Identifier: MIT
-- lock_info: who holds the lock and who waits for it.
-- uses: part_error part_master part_record part_clock part_line part_list
-- texts: who holds and waits, in arrays
--
-- KEYS[1]  lock     hash    owner -> 1; its TTL is the lease
-- KEYS[2]  state    hash    record of the last grant, and the turn
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  token    string  Redisson's count of grants
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  fairq    list    Redisson's fair queue
-- KEYS[9]  spin     string  there while a client spins
--
-- returns  {{owner, count, fence, held ms, lease left in ms, reason, mode,
--            ...},
--           number of waiters,
--           {claim, need, ticket, waited ms, reason, mode, ...}}  the first 64
--
-- Invariants: nothing is changed. Of a holder that is not one of ours fence and
-- held are 0, and the reason is empty. Those who wait for Redisson's fair lock
-- come behind ours, with a need of 0; where they may not be read, without them.

local refused = replica_refuses()
if refused then
    return refused
end

clock.look()

local holders, left = {}, redis.call('PTTL', lock)
for i = 1, #record.fields, 2 do
    local fence, held, reason = 0, 0, ''
    if record.fields[i] == record.claim then
        local of = redis.call('HMGET', state, 'since', 'reason')
        fence, reason = tonumber(record.fence) or 0, of[2] or ''
        held = math.max(clock.ms - (tonumber(of[1]) or clock.ms), 0)
    end
    local count = tonumber(record.fields[i + 1]) or 0
    local party = {record.fields[i], count, fence, held, left, reason, 'x'}
    for j = 1, #party do
        holders[#holders + 1] = party[j]
    end
end

local number, waiters = list.length(), list.waiters()
local others = redis.pcall('LRANGE', KEYS[8], 0, 63)
local length = redis.pcall('LLEN', KEYS[8])
if not failed(others) and not failed(length) then
    number = number + length
    for i = 1, math.min(#others, 64 - #waiters / 6) do
        for _, value in ipairs({others[i], 0, 0, 0, '', ''}) do
            waiters[#waiters + 1] = value
        end
    end
end
return {holders, number, waiters}
