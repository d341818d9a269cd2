-- SPDX-License-Identifier: MIT
-- lock_release: give the lock up and hand it to the next waiter.
-- uses: part_quick_free part_quick_pass part_error part_record part_clock
-- uses: part_lease part_fences part_line part_hold part_others part_pass
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
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  fence    of the hold that is released
--
-- returns  {1, more, degraded}  released; more 1: call lock_pass; degraded 1:
--              the server denied something, waiters must look for themselves
--          {0, code}  not the holder; 0: nobody is, 2: another is, 3: the same
--              claim under another fence
--
-- Invariants: on a mismatch nothing changes. A full server does not refuse
-- it. At most one waiter is made the owner, and no other is told anything.

if not record.mine then
    return {0, record.holder and 2 or 0}
elseif record.claim == ARGV[1] and record.fence ~= ARGV[4] then
    return {0, 3}
end

local more, degraded = pass.on()
if not more then
    return degraded
end
return {1, more, degraded}
