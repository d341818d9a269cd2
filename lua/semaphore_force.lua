-- SPDX-License-Identifier: MIT
-- semaphore_force: end one holder's hold, or everybody's, tell them, and hand
-- on.
-- uses: part_error part_permit_record part_clock part_lease part_permit_ids
-- uses: part_line part_permit_room part_others part_pass
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
-- ARGV[1]  owner    a claim, or a permit in hexadecimal; empty: everybody
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
--
-- returns  {1, more, degraded}  as semaphore_release
--          {0}  nobody held, or that one did not
--
-- Message to the inbox of each holder that is one of ours:
-- `revoked semaphore <claim> <fence> <name>`.
--
-- Invariants: as semaphore_release; an inbox is told only of a claim of which
-- there was a permit.

local who = ARGV[1]
local ids, told = {}, {}

-- Everybody, with what is known of him.
local function find_all()
    ids = redis.call('ZRANGE', zset, 0, -1)
    local known = redis.call('HGETALL', holders)
    for i = 1, #known, 2 do
        if redis.call('ZSCORE', zset, known[i]) then
            told[#told + 1] = permit.unpack(known[i + 1])
        end
    end
    return nil
end

-- The holder that who names: by a permit that may be another library's, or by
-- its claim.
local function find_one()
    local own, id, bad = permit.find(zset, holders, who)
    if own then
        ids, told = own.ids, {own}
    elseif id and redis.call('ZSCORE', zset, id) then
        ids = {id}
    end
    return bad
end

clock.look()
local bad
if who == '' then
    bad = find_all()
else
    bad = find_one()
end
if bad then
    return bad
elseif #ids == 0 then
    return {0}
end

permits.give_up(ids)

local more, degraded = pass.on()
if not more then
    return degraded
end
for _, own in ipairs(told) do
    if own.inbox ~= '' and failed(redis.pcall('PUBLISH', own.inbox,
            string.format('revoked semaphore %s %.0f ', own.claim, own.fence)
            .. lock)) then
        degraded = 1
    end
end
return {1, more, degraded}
