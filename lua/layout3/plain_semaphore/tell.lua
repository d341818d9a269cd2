-- Tells the first of the line to take, if enough are free. Sent behind what raised the
-- counter, and behind park.
--
-- KEYS    N, line, side
-- ARGV    inbox (a channel up to the client in it)
-- returns 1 it was told, 0 there is nobody or not enough, 3 of 64 nobody was heard: again
--
-- A waiter whose inbox nobody heard is parked with its place. A replica refuses the
-- first write.
local call, line, side, before = redis.call, KEYS[2], KEYS[3], nil
call('PEXPIRE', line, '2100000')
local free = tonumber(call('GET', KEYS[1])) or 0
for _ = 1, 64 do
    local first = call('LINDEX', line, '0')
    if not first or free < (tonumber(string.sub(first, 68)) or 0) then
        return 0
    elseif #first == 71 then
        local text = 'o' .. first .. ' 0 ' .. KEYS[1]
        if redis.pcall('PUBLISH', ARGV[1] .. string.sub(first, 1, 32), text) ~= 0 or
            string.byte(first, 50) == 108 then -- of kind l, which counts as heard
            return 1
        end
        before = before or call('HGET', side, 'last') or ''
        local last = string.sub(before .. first, -568)
        call('HSET', side, 'p' .. first, before, 'last', last)
        before = last
    end
    call('LPOP', line)
end
return 3
