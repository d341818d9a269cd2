-- SPDX-License-Identifier: MIT
-- rwlock_revoke: have the hold of the writer, with its owner's reads, or of one
-- reader end: it is not renewed any more, and its client is told. Until it is
-- released, or its lease ends, it stands.
-- uses: part_error part_rw_record part_clock part_lease part_void part_revoke
--
-- KEYS[1]  lock      hash    mode -> read or write; reader -> its holds; or
--                            <writer>:write -> its holds; its TTL is the lease
-- KEYS[2]  state     hash    record of the last writer, the phase, and the turn
-- KEYS[3]  queue     zset    claim that waits to write -> ticket
-- KEYS[4]  tickets   hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped   zset    claim passed over -> since when
-- KEYS[6]  readers   zset    claim that waits to read -> ticket
-- KEYS[7]  void      zset    claim that must not acquire or be renewed -> until
--                            when
-- KEYS[8]  holders   hash    claim that reads -> record of its grant
-- KEYS[9]  spin      string  there while a client spins
-- KEYS[10] upgraders zset    claim that waits to read, to write later
-- KEYS[11] upgrades  zset    claim that waits to write, and reads already
-- KEYS[12] none      not used
-- ARGV[1]  owner    the writer or the reader that it has to be
-- ARGV[2..3]        of no use
--
-- returns  {1, left, told}, {0}  as lock_revoke
--
-- Message to the inbox of each that is told:
-- `revoked rwlock <claim> <fence> <name>`.
--
-- Invariants: as lock_revoke; a claim is revoked by being void.

local owner = ARGV[1]
if not record.writes and not record.reads then
    return {0}
end

-- Whose holds end: claim, fence, inbox.
local told = {}
local function add_reader(claim)
    local mark = mark_of(redis.call('HGET', holders, claim))
    if mark then
        told[#told + 1] = {claim, mark.fence, mark.inbox}
    end
end

local left
if record.writes then
    left = redis.call('PTTL', lock)
    if record.claim == owner then
        local fields = redis.call('HKEYS', lock)
        told[1] = {owner, tonumber(record.fence),
            redis.call('HGET', state, 'inbox') or ''}
        for i = 1, #fields do
            add_reader(fields[i])
        end
    end
else
    left = redis.call('PTTL', timeout_key(owner))
    add_reader(owner)
end

clock.look()
for i = 1, #told do
    local bad = revoke.mark(told[i][1], left)
    if bad then
        return bad
    end
end
for i = 1, #told do
    revoke.tell('rwlock', unpack(told[i]))
end
return {1, left, #told > 0 and 1 or 0}
