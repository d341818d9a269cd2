-- SPDX-License-Identifier: MIT
-- term: under which fence one of ours holds now; 0: none of them does.
--
-- Invariants: nothing is changed, but a replica refuses it.
-- needs: failed past holder master

local bad = master(lock_key)
if bad then
    return bad
end
local was
was, bad = past.read(redis.call('GET', record_key), form.layout_lock)
if not was then
    return bad
end
local held = redis.pcall('HEXISTS', lock_key, was.claim)
if failed(held) then
    return holder.wrong(held)
end
return {TERM, redis.call('PTTL', lock_key), held * was.fence}
