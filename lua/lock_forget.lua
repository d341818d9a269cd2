-- SPDX-License-Identifier: MIT
-- lock_forget: remove what is kept of a lock that nobody uses.
-- uses: part_error part_master part_record part_clock part_forget
-- texts: who holds it
--
-- KEYS[1]  lock     hash    owner -> 1; its TTL is the lease
-- KEYS[2]  state    hash    record of the last grant, and the turn
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  token    string  Redisson's count of grants; stays as it is
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  fairq    list    Redisson's fair queue; stays as it is
-- KEYS[9]  spin     string  there while a client spins
-- ARGV[1]  empty
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  not used
--
-- returns  see part_forget
--
-- Invariants: nothing is removed while somebody holds or waits, nor a key of
-- another type; all keys are removed, or none. What is Redisson's stays, and
-- so do claims that are void still. Fences do not go back: the last one stays
-- for an hour. A full server does not refuse it. Sent again it finds nothing.

local refused = replica_refuses()
if refused then
    return refused
end

clock.look()
local marks = redis.call('HMGET', state, 'v', 'kind')
local waiters = forget.size('zset', KEYS[3], KEYS[5])
    + redis.call('LLEN', KEYS[8]) + redis.call('EXISTS', KEYS[9])
    + forget.listeners(ARGV[2])
forget.size('hash', KEYS[4])
if record.holder then
    return {2, record.holder, redis.call('PTTL', lock)}
elseif waiters > 0 then
    return {3, waiters}
elseif not marks[1] then
    return {0}
elseif (marks[2] or '') ~= '' then
    return redis.error_reply('LKTYPE the name is in use as another kind: '
        .. marks[2])
end
return forget.all(KEYS[7], KEYS[3], KEYS[4], KEYS[5])
