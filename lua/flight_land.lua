-- SPDX-License-Identifier: MIT
-- flight_land: who computed tells what came out of it.
-- uses: part_error part_flight
--
-- KEYS[1]  result  hash    status, words, value, by; its TTL is the value's
-- KEYS[2]  claim   string  who computes; its TTL is the lease
-- ARGV[1]  owner    the claim of this client
-- ARGV[2]  channel  where it is told that it has landed
-- ARGV[3]  interop  not used
-- ARGV[4]  ttl      in ms, > 0: for so long it can be had
-- ARGV[5]  status   0, or an error's number
-- ARGV[6]  words    that go with an error
-- ARGV[7]  value
-- ARGV[8]  most     bytes of a value that is sent with the message
--
-- returns  {1}  it can be had, from now on or since before
--          {0}  the claim is over, or another's: nothing was changed
--
-- The message is `<owner> <status> <bytes of words> <words><value>`, or, for a
-- value that has to be read, `<owner> look`.
--
-- Invariants: sent again it changes nothing, also when what it told has ended:
-- without the claim nothing lands. A full server does not refuse it.

if flight.fields then
    return {flight.fields[4] == ARGV[1] and 1 or 0}
elseif flight.leader ~= ARGV[1] then
    return {0}
end

-- A first write that a full server does not refuse.
local bad = failed(redis.pcall('DEL', claim))
    or failed(redis.pcall('HSET', result, 'v', '1', 'by', ARGV[1]))
if bad then
    return bad
end
bad = failed(redis.pcall('PEXPIRE', result, ARGV[4]))
if bad then
    redis.pcall('DEL', result) -- without an end it would stay
    return bad
end
redis.call('HSET', result, 'status', ARGV[5], 'words', ARGV[6], 'value',
    ARGV[7])
local text = ARGV[1] .. ' look'
if #ARGV[7] <= tonumber(ARGV[8]) then
    text = string.format('%s %s %d ', ARGV[1], ARGV[5], #ARGV[6]) .. ARGV[6]
        .. ARGV[7]
end
redis.pcall('PUBLISH', ARGV[2], text) -- denied: it is found by looking
return {1}
