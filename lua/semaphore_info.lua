-- SPDX-License-Identifier: MIT
-- semaphore_info: who holds permits and who waits for them.
-- uses: part_error part_master
-- uses: part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_list part_permit_room part_others
-- texts: who holds and waits, in arrays
--
-- KEYS[1]  counter  string  permits that are free; unset: there is no number
-- KEYS[2]  state    hash    kind, fence of the last grant, and the turn
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  permits  zset    permit -> end of its lease, plus the skew
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  holders  hash    permit of ours -> whose it is; of a claim's first:
--                           what is known of it
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
--
-- returns  {{owner, permits, fence, held ms, lease left ms, reason, p, ...},
--           number of waiters,
--           {claim, need, ticket, waited ms, reason, p, ...}}
--
-- Invariants: nothing is changed. At most 64 holders and 64 waiters are told.
-- A holder that is none of ours is one permit, in hexadecimal, of fence 0;
-- lease left -1: it has no end. A lease that has ended is not told.

local refused = replica_refuses()
if refused then
    return refused
end

local MOST = 64
local LIST = 1000 -- so many permits are looked at

clock.look()
local found = redis.call('ZRANGE', zset, 0, LIST - 1, 'WITHSCORES')
local ids, left_of, names = {}, {}, {}
for i = 1, #found, 2 do
    local left = tonumber(found[i + 1]) - clock.ms
    ids[#ids + 1] = found[i]
    left_of[found[i]] = left < 1e13 and left
end
local records = #ids > 0 and redis.call('HMGET', holders, unpack(ids)) or {}
for i = 1, #ids do
    if permit.owner(records[i]) then
        names[ids[i]] = permit.unpack(records[i]) or false
    end
end

local holders = {}
for _, id in ipairs(ids) do
    local own = names[id]
    local left = left_of[id] and left_of[id] - (own and own.skew or 0)
    if own ~= false and #holders < MOST * 7 and (not left or left > 0) then
        local values = own and {own.claim, own.n, own.fence,
                math.max(clock.ms - own.since, 0), left or -1, own.reason, 'p'}
            or {permit.hex_of(id), 1, 0, 0, left or -1, '', 'p'}
        for _, value in ipairs(values) do
            holders[#holders + 1] = value
        end
    end
end

return {holders, list.length(), list.waiters()}
