-- SPDX-License-Identifier: MIT
-- rwlock_force: end the hold of the writer, with its owner's reads, those of
-- all readers, or one reader's; tell them, and serve those who wait.
-- uses: part_error part_rw_record part_clock part_lease part_line
-- uses: part_rw_readers part_rw_share part_rw_room part_others part_pass
-- uses: part_rw_end
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
-- ARGV[1]  owner    the writer or the reader that it has to be; empty: whoever
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
--
-- returns  {1, more, degraded}  as rwlock_release
--          {0}  nobody held it, or that one did not
--
-- Message to the inbox of each that is one of ours:
-- `revoked rwlock <claim> <fence> <name>`.
--
-- Invariants: as rwlock_release; an inbox is told only of a claim that held.

local owner = ARGV[1]
local all = owner == '' or record.writes
local fields = redis.call('HGETALL', lock)
if owner ~= '' and not record.writes and not record.reads
        or share.mode ~= 'write' and readers.any() == false then
    return {0}
end

-- Whose inbox is to be told which claim and fence; and keys of readers.
local told, keys = {}, {}
for i = 1, #fields, 2 do
    local claim = fields[i]
    local mark = mark_of(redis.call('HGET', holders, claim))
    if not all and claim ~= owner then
        mark = nil
    elseif claim == (record.claim or '') .. ':write' then
        local inbox = redis.call('HGET', state, 'inbox')
        told[#told + 1] = {inbox or '', record.claim, record.fence}
    end
    if mark then
        told[#told + 1] = {mark.inbox, claim,
            string.format('%.0f', mark.fence)}
        keys[#keys + 1] = timeout_key(claim)
    end
end

clock.look()
local more, degraded = ending.of(all and 'all' or 'read', owner)
if not more then
    return degraded
end
for i = 1, #keys do
    redis.pcall('DEL', keys[i])
end
for i = 1, #told do
    local message = 'revoked rwlock ' .. told[i][2] .. ' ' .. told[i][3]
        .. ' ' .. lock
    if told[i][1] ~= '' and failed(redis.pcall('PUBLISH', told[i][1],
            message)) then
        degraded = 1
    end
end
return {1, more, degraded}
