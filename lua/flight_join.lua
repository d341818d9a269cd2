-- SPDX-License-Identifier: MIT
-- flight_join: take what has landed, or learn who computes it, or be the one.
-- uses: part_error part_flight
-- texts: the words, the value, the leader
--
-- KEYS[1]  result  hash    status, words, value, by; its TTL is the value's
-- KEYS[2]  claim   string  who computes; its TTL is the lease
-- ARGV[1]  owner    the claim of this client
-- ARGV[2]  channel  where it is told that it has landed
-- ARGV[3]  interop  not used
-- ARGV[4]  lease    in ms, > 0
--
-- returns  {1, status, words, value}  it has landed
--          {2, left, leader}          another computes, whose lease has so many
--                                     ms left
--          {3}                        the owner computes, with a full lease
--
-- Invariants: one computes at a time, as far as leases go. Sent again it
-- answers the same, as long as nobody else has done anything; so it is also how
-- who computes renews its lease. A full server refuses it to the first.

if flight.fields then
    return {1, flight.fields[1], flight.fields[2] or '',
        flight.fields[3] or ''}
elseif flight.leader and flight.leader ~= ARGV[1] then
    return {2, redis.call('PTTL', claim), flight.leader}
end
local done = redis.pcall('SET', claim, ARGV[1], 'PX', ARGV[4])
if failed(done) then
    return done
end
return {3}
