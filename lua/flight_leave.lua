-- SPDX-License-Identifier: MIT
-- flight_leave: who was to compute does not.
-- uses: part_error part_flight
--
-- KEYS[1]  result  hash    status, words, value, by; its TTL is the value's
-- KEYS[2]  claim   string  who computes; its TTL is the lease
-- ARGV[1]  owner    the claim of this client
-- ARGV[2]  channel  where it is told that it has landed
-- ARGV[3]  interop  not used
--
-- returns  {1}  it was to, and is not any more
--          {0}  it was not
--
-- Invariants: of another claim nothing is changed. A waiter is told to look. A
-- full server does not refuse it.

if flight.leader ~= ARGV[1] then
    return {0}
end
local bad = failed(redis.pcall('DEL', claim))
if bad then
    return bad
end
redis.pcall('PUBLISH', ARGV[2], ARGV[1] .. ' look')
return {1}
