-- SPDX-License-Identifier: MIT
-- join: take what has landed, or learn who computes it, or be the one.
--
-- left: of the leader's lease, in ms. mine: own computes, with a full lease.
--
-- Invariants: one computes at a time, as far as leases go. Sent again it answers
-- the same, as long as nobody else has done anything; so it is also how a leader
-- renews its lease. A full server refuses it to the first.
-- needs: failed flight

local bad = flight.look(result_key, claim_key)
if bad then
    return bad
elseif flight.fields then
    return {LANDED, tonumber(flight.fields[1]), flight.fields[2] or '',
        flight.fields[3] or ''}
elseif flight.leader and flight.leader ~= own then
    return {OTHER, redis.call('PTTL', claim_key), flight.leader}
end
bad = failed(redis.pcall('SET', claim_key, own, 'PX', lease))
return bad or {MINE}
