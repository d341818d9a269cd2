-- SPDX-License-Identifier: MIT
-- see: c how many permits are free; i who waits, the first 64.
--
-- Invariants: nothing is changed, but a replica refuses it. Nobody knows who has the
-- permits, so there are no holders. No nonce is told.
-- needs: clock counter master queue

local MOST = '64'

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
local rows = redis.call('ZRANGEBYSCORE', queue_key, '0',
    '(' .. queue.score(queue.VOID, 0), 'WITHSCORES', 'LIMIT', '0', MOST)
for i = 1, #rows, 2 do
    local it = queue.entry(rows[i], rows[i + 1])
    local row = it and {it.claim, tonumber(it.need), it.ticket,
        math.max(clock.ms - queue.time_of(it.ticket), 0), it.reason, it.mode}
    for at = 1, row and #row or 0 do
        waiters[#waiters + 1] = row[at]
    end
end
return {SEEN, redis.call('ZCOUNT', queue_key, '0',
    '(' .. queue.score(queue.VOID, 0)), {}, waiters}
