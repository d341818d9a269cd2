-- SPDX-License-Identifier: MIT
-- rwlock_forget: remove what is kept of a read-write lock that nobody uses.
-- uses: part_error part_master part_rw_record part_clock part_forget
-- texts: who holds it
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
-- ARGV[1]  empty
-- ARGV[2]  channel   Redisson's, for this name
-- ARGV[3]  interop   not used
--
-- returns  see part_forget
--
-- Invariants: those of lock_forget. A reader that has died counts until the
-- hash ends.

local refused = replica_refuses()
if refused then
    return refused
end

clock.look()
local marks = redis.call('HMGET', state, 'v', 'kind')
local waiters = forget.size('zset', KEYS[3], KEYS[5], KEYS[6], KEYS[10],
    KEYS[11]) + redis.call('EXISTS', KEYS[9]) + forget.listeners(ARGV[2])
forget.size('hash', KEYS[4], holders)
if record.mode then
    local owner = ''
    for _, field in ipairs(redis.call('HKEYS', lock)) do
        owner = field ~= 'mode' and string.gsub(field, ':write$', '') or owner
    end
    return {2, owner, redis.call('PTTL', lock)}
elseif waiters > 0 then
    return {3, waiters}
elseif not marks[1] then
    return {0}
elseif marks[2] ~= 'rw' then
    return redis.error_reply('LKTYPE the name is in use as another kind: '
        .. (marks[2] or 'lock'))
end
return forget.all(KEYS[7], KEYS[3], KEYS[4], KEYS[5], KEYS[6], holders,
    KEYS[10], KEYS[11])
