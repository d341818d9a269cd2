-- SPDX-License-Identifier: MIT
-- revoke: have one owner's hold end: its client is told, and does not renew it
-- any more. Until it is released, or its lease ends, it stays.
--
-- told 1: the grant's record says so. 0: it is another library's, which cannot
-- be told and may renew it, and nothing was changed.
--
-- Invariants: holders and the ends of their leases stay as they are. Sent again
-- it changes nothing. A full server does not refuse it.
-- needs: failed hold message

local bad = hold.look(lock_key, record_key, claim)
if bad then
    return bad
elseif not hold.writes and not hold.reads then
    return {NOT_HELD}
end
local left = redis.call('PTTL', hold.reads and not hold.writes and timeout_key
    or hold.lasts_by(lock_key, claim))
local grant = hold.grant(holders_key, claim)
if not grant then
    return {REVOKED, left, 0}
end
-- Changes nothing; a full server lets through what follows.
bad = failed(redis.pcall('HDEL', holders_key, ''))
if not bad and grant.flag ~= 'v' and hold.writes then
    bad = failed(redis.pcall('SET', record_key, hold.record({flag = 'v'}),
        'KEEPTTL'))
elseif not bad and grant.flag ~= 'v' then
    grant.flag = 'v'
    bad = failed(redis.pcall('HSET', holders_key, claim, reader.write(grant)))
end
if bad then
    return bad
end
grant.claim = claim
message.revoked(grant, db, 'rwlock', lock_key)
return {REVOKED, left, 1}
