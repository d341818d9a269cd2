-- SPDX-License-Identifier: MIT
-- see: c how many permits are free; i who waits, the first 64.
--
-- Invariants: nothing is changed, but a replica refuses it. Nobody knows who has the
-- permits, so there are no holders. No nonce is told.
-- needs: clock counter master waiting

local bad = master(memo_key) or counter.look({counter = counter_key,
    record = record_key, zset = zset_key})
if bad then
    return bad
elseif what == 'c' and not counter.free then
    return {UNSET}
elseif what == 'c' then
    return {COUNTED, counter.free}
end

local waiters = {}
local number, entries = waiting.all(queue_key)
for i = 1, #entries do
    waiting.tell(waiters, entries[i], entries[i].mode)
end
return {SEEN, number, {}, waiters}
