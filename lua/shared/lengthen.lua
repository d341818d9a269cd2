-- SPDX-License-Identifier: MIT
-- lengthen: a lease is only lengthened.
-- needs: failed

-- Makes key live for at least ms from now and returns how long it will; below 0:
-- it is not there. A key without an end gets one: a hold that nobody renews must
-- end. An error is returned as redis.pcall does.
local function lengthen(key, ms)
    local left = redis.pcall('PTTL', key)
    if failed(left) or left >= ms or left == -2 then
        return left
    end
    local reply = redis.pcall('PEXPIRE', key, ms)
    return failed(reply) or ms
end
