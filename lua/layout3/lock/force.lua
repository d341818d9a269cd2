-- SPDX-License-Identifier: MIT
--
-- Takes the name from its holder, or from all that stand in it. next goes behind it.
--
-- KEYS    N, line
-- ARGV    claim or field (empty: all), inbox up to the client (plain), Redisson's channel
-- returns 10 and how many went, 0 none
--
-- A full server accepts the only write. A hash of another kind is left alone.
local call, lock, gone = redis.call, KEYS[1], {ARGV[1]}
local field = call('HRANDFIELD', lock)
if field and (#field < 38 or not string.find(field, '^[%x-]+:%x+$') or
    call('HEXISTS', lock, 'mode') == 1) then
    return redis.error_reply('LKKIND the name is of another kind')
elseif ARGV[1] == '' then
    gone = call('HRANDFIELD', lock, '64')
end
local count = call('HDEL', lock, '', unpack(gone))
for i = 1, count > 0 and #gone or 0 do
    if string.byte(gone[i], 33) == 58 then
        local inbox = ARGV[2] .. string.sub(gone[i], 1, 32)
        redis.pcall('publish', inbox, 'r' .. gone[i] .. ' 2 ' .. lock)
    end
end
if count > 0 and call('EXISTS', KEYS[2]) == 0 then
    redis.pcall('PUBLISH', ARGV[3], '0')
end
return count > 0 and 10 + count or 0
