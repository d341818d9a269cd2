-- SPDX-License-Identifier: MIT
-- lock_revoke: have one owner's hold end: it is not renewed any more, and its
-- client is told. Until it is released, or its lease ends, nobody else gets
-- the name.
-- uses: part_error part_record part_clock
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
-- ARGV[1]  owner    whose hold it has to be
-- ARGV[2..3]        of no use
--
-- returns  {1, left, told}  it holds, for another left ms at most, -1: without
--              an end; told 1: it is revoked; 0: it is another library's,
--              which cannot be told and may renew it, and nothing was changed
--          {0}  it does not hold
--
-- Message to the holder's inbox: `revoked lock <claim> <fence> <name>`.
--
-- Invariants: who holds and until when stays as it is. Sending it again changes
-- nothing. A full server does not refuse it. What is revoked is the grant that
-- bears the fence in the state's field `revoked`; the next grant is another.

if not record.mine then
    return {0}
end
local left = redis.call('PTTL', lock)
if record.claim ~= ARGV[1] then
    return {1, left, 0}
end

-- Not refused by a full server, which lets through what follows.
clock.look()
redis.call('ZREMRANGEBYSCORE', KEYS[7], '-inf', clock.ms)
redis.call('HSET', state, 'revoked', record.fence)
local inbox = redis.call('HGET', state, 'inbox') or ''
if inbox ~= '' then
    redis.pcall('PUBLISH', inbox, 'revoked lock ' .. record.claim .. ' '
        .. record.fence .. ' ' .. lock)
end
return {1, left, 1}
