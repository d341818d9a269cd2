-- SPDX-License-Identifier: MIT
-- siglock_import: a hold that was exported becomes another client's, under that
-- client's claim, with its lease begun anew.
-- uses: part_error part_lease part_void part_siglock part_revoke
--
-- KEYS[1]  lock    string  the holder's id; its TTL is the lease, if it has one
-- KEYS[2]  signal  list    one element when the name has become free
-- KEYS[3]  void    zset    claim that must not acquire -> until when
-- ARGV[1]  owner    the claim that was exported
-- ARGV[2..4]        of no use
-- ARGV[5]  lease    milliseconds, > 0
-- ARGV[6]  inbox    of no use
-- ARGV[7]  id       the importer's claim
--
-- returns  {1, lease left in ms, 0, 0}  the importer's claim holds
--          {0, code}  it does not; codes as in lock_renew
--
-- Invariants: of those who import one claim one is told 1. That one may ask
-- again with the same id. A TTL is only lengthened. On a mismatch nothing
-- changes. A full server does not refuse it.

local owner, id = ARGV[1], ARGV[7]

if siglock.holder ~= owner and siglock.holder ~= id then
    return {0, siglock.code()}
elseif revoke.is_void(siglock.holder) then
    return {0, 4}
end
local left = lease.lengthen(lock, tonumber(ARGV[5]))
if failed(left) then
    return left
end
-- Changes nothing; a full server lets through what follows such a write.
local bad = failed(redis.pcall('PEXPIRE', lock, left))
    or failed(redis.pcall('SET', lock, id, 'PX', left))
return bad or {1, left, 0, 0}
