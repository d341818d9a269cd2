-- SPDX-License-Identifier: MIT
-- acquire: take the lock if it is free.
--
-- left: of its lease, or of the holder's; -1: that has no end.
--
-- Invariants: a lock that is taken has a TTL. Sent again it changes nothing. A
-- claim that was given up takes nothing. A full server refuses it before anything
-- is written. The signal is only looked at: it must be a list if it is there.
-- needs: clock void

clock.look()
local holder = redis.call('GET', lock_key)
if void.refuses(void_key, claim) then
    return redis.error_reply('LKVOID the claim was given up')
elseif holder == claim then
    return {HELD, redis.call('PTTL', lock_key)}
end
redis.call('LLEN', signal_key) -- one of the wrong type ends the script here
if holder then
    return {BUSY, redis.call('PTTL', lock_key)}
end
redis.call('SET', lock_key, claim, 'PX', lease)
return {HELD, tonumber(lease)}
