-- SPDX-License-Identifier: MIT
-- redlock_release: take a token away, if it stands.
-- uses: part_error
--
-- KEYS[1]  the name itself
-- ARGV     token
--
-- returns  {1}      it stood and is gone
--          {0, 0}   there is no key
--          {0, 2}   the key holds something else
--
-- Invariants: a key with anything but the token is not touched; so it may be
-- run any number of times, and late. A full server does not refuse it.

local name, token = KEYS[1], ARGV[1]
local own = redis.pcall('GET', name)

if failed(own) and not string.find(own.err, 'WRONGTYPE', 1, true) then
    return own
elseif failed(own) or (own and own ~= token) then
    return {0, 2}
elseif not own then
    return {0, 0}
end
redis.call('DEL', name)
return {1}
