-- SPDX-License-Identifier: MIT
-- leave: a leader does not compute after all.
--
-- over: it did not lead, and nothing was changed.
--
-- Invariants: a waiter is told to look. A full server does not refuse it.
-- needs: failed flight publish

local bad = flight.look(result_key, claim_key)
if bad then
    return bad
elseif flight.leader ~= own then
    return {OVER}
end
bad = failed(redis.pcall('DEL', claim_key))
if bad then
    return bad
end
publish(channel, own .. ' look')
return {GONE}
