-- SPDX-License-Identifier: MIT
-- waits: the list of those who wait for a latch. A wait takes nothing and has
-- no place in line, so nothing depends on these entries: where they cannot be
-- written the wait goes on all the same.
-- needs: failed clock queue sweep

local waits = {}

-- Lists a member, and a client that was heard of: uuid, or nil.
function waits.note(key, own, uuid)
    local score = queue.score(1, math.floor(clock.us / 16))
    local bad = failed(redis.pcall('ZADD', key, 'NX', score, own))
    if not bad and uuid then
        bad = failed(redis.pcall('ZADD', key, queue.text(-clock.ms), uuid))
    end
    if bad or failed(redis.pcall('PEXPIRE', key, queue.LIFE)) then
        redis.pcall('ZREM', key, own, uuid or '')
    elseif uuid and clock.ms % 16 == 0 then
        local is_good, gone = pcall(sweep.find, key, 1)
        if is_good and #gone > 0 then
            redis.pcall('ZREM', key, unpack(gone))
        end
    end
end
