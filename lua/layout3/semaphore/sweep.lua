-- Takes out of a side or a memo what nobody asks for any more. A client sends it with one
-- touch, or one change, of 16.
--
-- KEYS    side, or memo
-- ARGV    none
-- returns how many fields it took out
--
-- Of 64 fields: marks of clients that are over 60 s old, and what such clients have
-- parked, a client without a mark gets one; notes of changes that are over 11 min old.
-- Other fields are left alone.
local call, time, gone = redis.call, redis.call('TIME'), {}
local now = time[1] * 1000 + time[2] / 1000
local some = call('HRANDFIELD', KEYS[1], '64', 'WITHVALUES')
for i = 1, #some, 2 do
    local field, mark = some[i], #some[i] == 32 and some[i + 1]
    if string.find(field, '^p%x+:') then
        local client = string.sub(field, 2, 33)
        mark = call('HGET', KEYS[1], client)
        if not mark then
            call('HSET', KEYS[1], client, string.format('%d', now))
        end
    end
    local note = #field == 49 and tonumber(string.sub(some[i + 1], 1, 13))
    local age, of_note = math.abs(now - (mark or now)), math.abs(now - (note or now))
    if age > 60000 or of_note > 660000 then
        gone[#gone + 1] = field
    end
end
return #gone > 0 and call('HDEL', KEYS[1], unpack(gone)) or 0
