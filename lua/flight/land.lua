-- SPDX-License-Identifier: MIT
-- land: the leader tells what came out of it.
--
-- ttl: in ms, for so long it can be had. status: 0, or an error's number; words go
-- with an error. most: bytes of a value that is sent with the message. landed: it
-- can be had, from now on or since before. over: the claim is, or it is another's,
-- and nothing was changed.
--
-- The message is `<own> <status> <bytes of words> <words><value>`, or, for a value
-- that has to be read, `<own> look`.
--
-- Invariants: sent again it changes nothing, also when what it told has ended:
-- without the claim nothing lands. What is denied leaves the claim and no value, so
-- that it can be sent again. A full server does not refuse it.
-- needs: failed flight publish

local bad = flight.look(result_key, claim_key)
if bad then
    return bad
elseif flight.fields and flight.fields[4] == own then
    return {LANDED}
elseif flight.fields or flight.leader ~= own then
    return {OVER}
end

-- Removes nothing but half a value, if one was left there; a full server lets
-- through what follows. Whoever may not remove the claim lands nothing.
bad = failed(redis.pcall('DEL', result_key))
    or failed(redis.pcall('HSET', result_key, 'v', '1', 'by', own, 'status',
        status, 'words', words, 'value', value))
if bad then
    return bad
end
bad = failed(redis.pcall('PEXPIRE', result_key, ttl))
if bad then
    redis.pcall('DEL', result_key) -- without an end it would stay
    return bad
end
redis.pcall('DEL', claim_key)
local text = own .. ' look'
if #value <= tonumber(most) then
    text = string.format('%s %s %d ', own, status, #words) .. words .. value
end
publish(channel, text) -- denied: it is found by looking
return {LANDED}
