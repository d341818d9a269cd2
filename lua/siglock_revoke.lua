-- SPDX-License-Identifier: MIT
-- siglock_revoke: have one owner's hold end: it is not renewed any more. Until
-- it is released, or its lease ends, it stands.
-- uses: part_error part_clock part_lease part_void part_siglock part_revoke
--
-- KEYS[1]  lock    string  the holder's id; its TTL is the lease, if it has one
-- KEYS[2]  signal  list    one element when the name has become free
-- KEYS[3]  void    zset    claim that must not acquire or be renewed -> until
--                          when
-- ARGV[1]  owner    whose hold it has to be
-- ARGV[2..3]        of no use
--
-- returns  {1, left, told}, {0}  as lock_revoke; told 1: its client finds out
--              when it renews
--
-- Invariants: as lock_revoke; a claim is revoked by being void. What no client
-- of ours holds, as its id says, is left alone.

local owner = ARGV[1]
if siglock.holder ~= owner then
    return {0}
end
local left = redis.call('PTTL', lock)
local uuid = string.match(owner, '^([%x-]+):%d+$')
if not uuid or #uuid ~= 36 then
    return {1, left, 0}
end
clock.look()
local bad = revoke.mark(owner, left)
return bad or {1, left, 1}
