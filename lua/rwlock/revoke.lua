-- SPDX-License-Identifier: MIT
-- revoke: have one owner's hold end, of the writer with the reads beside it: its
-- client is told, and does not renew it any more. Until it is released, or its
-- lease ends, it stays.
--
-- told 1: the grant's record says so. 0: it is another library's, which cannot
-- be told and may renew it, and nothing was changed.
--
-- Invariants: holders and the ends of their leases stay as they are. Sent again
-- it changes nothing. A full server does not refuse it.
-- needs: failed hold readers message

local bad = hold.look(lock_key, record_key, claim)
if bad then
    return bad
elseif not hold.writes and not hold.reads then
    return {NOT_HELD}
end
local left = redis.call('PTTL', hold.lasts_by(lock_key, claim))
local grant = hold.grant(holders_key, claim)
if not grant then
    return {REVOKED, left, 0}
end

-- The grants in the holders that end with it, and what they become.
local told, reads = {grant}, hold.writes and redis.call('HKEYS', holders_key)
    or {claim}
local texts = {}
grant.claim = claim
for i = 1, #reads do
    local it = readers.lives(lock_key, reads[i])
        and reader.read(redis.call('HGET', holders_key, reads[i]) or '')
    if it then
        it.claim = reads[i]
        told[#told + (reads[i] == claim and 0 or 1)] = it
        texts[#texts + 1] = reads[i]
        it.flag = 'v'
        texts[#texts + 1] = reader.write(it)
    end
end

-- Changes nothing; a full server lets through what follows.
bad = failed(redis.pcall('HDEL', holders_key, ''))
if not bad and hold.writes and grant.flag ~= 'v' then
    bad = failed(redis.pcall('SET', record_key, hold.record({flag = 'v'}),
        'KEEPTTL'))
end
if not bad and #texts > 0 then
    bad = failed(redis.pcall('HSET', holders_key, unpack(texts)))
end
if bad then
    return bad
end
for i = 1, #told do
    message.revoked(told[i], db, 'rwlock', lock_key)
end
return {REVOKED, left, 1}
