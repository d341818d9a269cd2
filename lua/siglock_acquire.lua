-- SPDX-License-Identifier: MIT
-- siglock_acquire: take the lock if it is free.
-- uses: part_error part_clock part_lease part_void part_siglock
--
-- KEYS[1]  lock    string  the holder's id; its TTL is the lease, if it has one
-- KEYS[2]  signal  list    one element when the name has become free
-- KEYS[3]  void    zset    claim that must not acquire -> until when
-- ARGV[1]  owner    the claim
-- ARGV[2..3]        of no use
-- ARGV[4]  lease    milliseconds, > 0
-- ARGV[5..7]        of no use
-- ARGV[8]  check_void  1: refuse a claim that was given up
--
-- returns  {1, 0, lease left in ms, 0}  it holds
--          {2, lease left}  held by another; -1: without an end
--          error LKVOID  the claim was given up
--
-- Invariants: a lock that is taken has a TTL. Sending it again changes
-- nothing. A full server refuses it before anything is written. The signal is
-- only looked at: it must be a list if it is there.

local owner, ms = ARGV[1], tonumber(ARGV[4])

clock.look()
if ARGV[8] == '1' and void.refuses(owner) then
    return redis.error_reply('LKVOID the claim was given up')
elseif siglock.holder == owner then
    return {1, 0, redis.call('PTTL', lock), 0}
end
redis.call('LLEN', signal) -- a signal of the wrong type ends the script here
if siglock.holder then
    return {2, redis.call('PTTL', lock)}
end
redis.call('SET', lock, owner, 'PX', ms)
return {1, 0, ms, 0}
