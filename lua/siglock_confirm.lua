-- SPDX-License-Identifier: MIT
-- siglock_confirm: lengthen the lease of one hold.
-- uses: part_error part_lease part_void part_siglock part_revoke
--
-- KEYS[1]  lock    string  the holder's id; its TTL is the lease, if it has one
-- KEYS[2]  signal  list    one element when the name has become free
-- KEYS[3]  void    zset    claim that must not acquire -> until when
-- ARGV[1]  owner    the claim
-- ARGV[2..4]        of no use
-- ARGV[5]  lease    milliseconds, > 0
--
-- returns  {1, lease left in ms, 1, 0}
--          {0, code}  not the holder; codes as in lock_renew
--
-- Invariants: a TTL is only lengthened. On a mismatch nothing changes. A full
-- server does not refuse it.

if siglock.holder ~= ARGV[1] then
    return {0, siglock.code()}
elseif revoke.is_void(ARGV[1]) then
    return {0, 4}
end
local left = lease.lengthen(lock, tonumber(ARGV[5]))
if failed(left) then
    return left
end
return {1, left, 1, 0}
