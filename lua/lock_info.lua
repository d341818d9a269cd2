-- SPDX-License-Identifier: MIT
-- lock_info: who holds the lock and who waits for it.
-- uses: part_error part_record part_clock part_line
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
-- returns  {lease left in ms,
--           {owner, count, ...},
--           {claim, fence, held ms, lease ms, reason} or {},
--           number of waiters,
--           {claim, ticket, waited ms, reason, ...}}  the first 64 of them
--
-- Invariants: nothing is written. The third part is there only for a holder
-- that is one of ours.

clock.look()

local holder = {}
for i = 1, #record.fields, 2 do
    if record.fields[i] == record.claim then
        local of = redis.call('HMGET', state, 'since', 'lease', 'reason')
        holder = {record.claim, tonumber(record.fence) or 0,
            math.max(clock.ms - (tonumber(of[1]) or clock.ms), 0),
            tonumber(of[2]) or 0, of[3] or ''}
    end
end

local waiters = {}
local claims = redis.call('ZRANGE', queue, 0, 63)
for i = 1, #claims do
    local entry = line.find(claims[i])
    if entry then
        waiters[#waiters + 1] = claims[i]
        waiters[#waiters + 1] = entry.ticket
        waiters[#waiters + 1] = math.max(clock.ms - entry.since, 0)
        waiters[#waiters + 1] = entry.reason
    end
end
return {redis.call('PTTL', lock), record.fields, holder,
    redis.call('ZCARD', queue), waiters}
