-- SPDX-License-Identifier: MIT
-- revoke: have one holder's hold end: its client is told, and does not renew it
-- any more. Until it is released, or its lease ends, its permits are taken. claim
-- may be a permit, in hexadecimal.
--
-- told 1: the holders say so. 0: it is another library's, which cannot be told and
-- may renew it, and nothing was changed.
--
-- Invariants: the holder and the end of its lease stay as they are. Sent again it
-- changes nothing. A full server does not refuse it.
-- needs: books clock failed message permits

local to = {counter = counter_key, zset = zset_key, record = record_key,
    queue = queue_key, holders = holders_key}
local bad = books.look(to)
if bad then
    return bad
end
local it, id
it, id, bad = permits.named(to, claim)
if bad then
    return bad
elseif it and it.till and it.till > clock.ms then
    it.flag = 'v'
    -- Changes nothing; a full server lets through what follows.
    bad = failed(redis.pcall('HDEL', holders_key, ''))
        or failed(redis.pcall('HSET', holders_key, it.ids[1], hold.write(it)))
    if bad then
        return bad
    end
    message.revoked(it, db, 'semaphore', counter_key)
    return {REVOKED, it.till - clock.ms, 1}
end
local score = id and not it and redis.call('ZSCORE', zset_key, id)
if score and tonumber(score) > clock.ms then
    return {REVOKED, score - clock.ms, 0}
end
return {NOT_HELD}
