-- SPDX-License-Identifier: MIT
-- part_siglock: the two keys of python-redis-lock: who holds, and a list from
-- which whoever waits pops that the name has become free.
-- Needs: part_error.

local lock, signal = KEYS[1], KEYS[2]
local siglock = {holder = redis.call('GET', lock)}

-- Tells one of those who wait, or who comes within a second, that the name is
-- free. One signal lies there at a time: two would wake two for one lock.
-- Returns 1 if the server denied it, and who waits must look for itself; or 0.
function siglock.tell()
    redis.pcall('DEL', signal)
    if failed(redis.pcall('LPUSH', signal, 1)) then
        return 1
    end
    redis.pcall('PEXPIRE', signal, 1000)
    return 0
end

-- What the answer says of a claim that does not hold.
function siglock.code()
    return siglock.holder and 2 or 0
end
