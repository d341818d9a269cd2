-- SPDX-License-Identifier: MIT
-- part_rw_quick_free: the only hold of a name that nobody of ours waits for, or
-- spins on, is released in few commands. Goes first, as part_rw_quick_take
-- does, and like it leaves whatever is not quite plain to the script.

do
    local lock, owner, word, aside = KEYS[1], ARGV[1], nil, nil
    if redis.pcall('EXISTS', KEYS[3], KEYS[6], KEYS[9], KEYS[10], KEYS[11])
            == 0 and redis.pcall('HLEN', lock) == 2 then
        local fields = redis.pcall('HMGET', lock, owner .. ':write', owner)
        local marks = fields[1] == '1'
            and redis.pcall('HMGET', KEYS[2], 'v', 'claim', 'fence',
                'aside')
        local packed = fields[2] == '1'
            and redis.pcall('EXISTS', KEYS[12]) == 1
            and redis.pcall('HGET', KEYS[8], owner)
        if marks and marks[1] == '1' and marks[2] == owner
                and marks[3] == ARGV[4] then
            word, aside = '1', marks[4]
        elseif type(packed) == 'string'
                and string.match(packed, '^(%d+) ') == ARGV[4] then
            word = '0'
        end
    end
    if word then
        local reply = redis.pcall('DEL', lock)
        if reply ~= 1 then
            return reply
        elseif word == '0' then
            redis.pcall('DEL', KEYS[12], KEYS[8])
        elseif aside == owner then
            redis.pcall('DEL', KEYS[12])
        end
        reply = redis.pcall('PUBLISH', ARGV[2], word)
        return {1, 0, type(reply) == 'table' and 1 or 0}
    end
end
