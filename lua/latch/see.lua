-- SPDX-License-Identifier: MIT
-- see: c what is left to count, 0: it is open; i who has arrived and who waits,
-- the first 64 of each.
--
-- Invariants: nothing is changed, but a replica refuses it. No nonce is told.
-- needs: add clock queue generation waiting master

local bad = master(record_key)
if bad then
    return bad
end
local it
it, bad = generation.read(count_key, record_key, arrived_key)
if not it then
    return bad
elseif what == 'c' and it.phase == 'unset' then
    return {UNSET}
elseif what == 'c' then
    return {LEFT, it.phase == 'open' and '0'
        or string.match(it.text, '^0*(%d+)$')}
end

local holders, waiters = {}, {}

if it.phase ~= 'unset' and it.news ~= 'armed' then
    local rows = redis.call('ZRANGEBYSCORE', arrived_key, queue.text(it.gen),
        '+inf', 'WITHSCORES', 'LIMIT', '0', '64')
    for i = 1, #rows, 2 do
        local ms = math.floor((clock.us - tonumber(rows[i + 1])) / 1000)
        add(holders, group.holder({claim = rows[i], count = 1, fence = 0,
            held = math.max(ms, 0), left = -1, reason = '', mode = ''}))
    end
end
local number, entries = waiting.all(queue_key)
for i = 1, #entries do
    local one = entries[i]
    add(waiters, group.waiter({claim = one.claim, need = 1, ticket = 0,
        waited = math.max(clock.ms - queue.time_of(one.ticket), 0),
        reason = one.reason, mode = ''}))
end
return {SEEN, number, holders, waiters}
