-- SPDX-License-Identifier: MIT
-- revoke: have one owner's hold end: its client is told, and does not renew it
-- any more. Until it is released, or its lease ends, nobody else gets the name.
--
-- told 1: the record says so. 0: it is another library's, which cannot be told
-- and may renew it, and nothing was changed.
--
-- Invariants: the holder and the end of its lease stay as they are. Sent again
-- it changes nothing. A full server does not refuse it. What is revoked is the
-- grant that the record is about; the next grant has another record.
-- needs: failed past holder message

local was, bad = past.read(redis.call('GET', record_key), form.layout_lock)
if not was then
    return bad
end
local held = redis.pcall('HEXISTS', lock_key, claim)
if failed(held) then
    return holder.wrong(held)
elseif held == 0 then
    return {NOT_HELD}
end
local left = redis.call('PTTL', lock_key)
if was.claim ~= claim then
    return {REVOKED, left, 0}
end
-- Changes nothing; a full server lets through what follows.
bad = failed(redis.pcall('ZREM', queue_key, ''))
    or was.flag ~= 'v' and failed(redis.pcall('SET', record_key,
        holder.note(was, 'flag', 'v'), 'KEEPTTL'))
if bad then
    return bad
end
message.revoked(was, db, 'lock', lock_key)
return {REVOKED, left, 1}
