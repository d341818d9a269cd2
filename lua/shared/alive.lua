-- SPDX-License-Identifier: MIT
-- alive: which members' clients can be reached: their inbox is listened to, and
-- they were heard of within three seconds, before or after now.
--
-- Where no mark at all is within reach of the clock it is not they who were
-- late: the clock was set, or the server stood still. Then alive.gap is what
-- ZADD is to note behind the first write, and those that were heard of since
-- the gap before are spared, once.
-- needs: audience clock failed queue message

local alive = {}

local NEAR = 3000

-- Whether the ticket alone is a sign of life.
function alive.is_young(it)
    return clock.is_near(queue.time_of(it.ticket), NEAR)
end

-- Reads when the clock was last seen to have jumped, given the two entries, and
-- notes that it did. The writer of a mark looks first, unless its own last one is
-- within reach: the mark would hide the gap from those that come later.
function alive.look_for_gap(key, gap, before)
    alive.at, alive.before = gap and -gap, before and -before
    local first, last = queue.text(-clock.ms - NEAR),
        queue.text(NEAR - clock.ms)
    if redis.call('ZCOUNT', key, first, last) > 0
            or redis.call('ZCOUNT', key, '-inf', '(0') == 0 then
        return
    end
    alive.gap = {queue.text(-clock.ms), 'gap'}
    if gap then
        alive.gap[3], alive.gap[4] = gap, 'gap0'
    end
    alive.at, alive.before = clock.ms, alive.at
end

local function is_spared(sign)
    return alive.at and clock.is_near(alive.at, NEAR)
        and (not alive.before or alive.before > clock.ms
            or sign > alive.before and sign <= clock.ms)
end

-- Reads what a queue says of these members, and who listens, one command each.
-- Then it.lives says whether each is alive; it.sign is when it was last heard
-- of. Returns an error or nil: then it is not known of any.
function alive.look(key, entries)
    local inboxes, marks = {}, {'gap', 'gap0'}
    for i = 1, #entries do
        inboxes[i] = message.inbox(entries[i], key)
        marks[i + 2] = string.match(entries[i].claim, '^(.*):')
    end
    local counts = audience(inboxes)
    if failed(counts) then
        return counts
    end
    marks = redis.call('ZMSCORE', key, unpack(marks))
    alive.look_for_gap(key, marks[1], marks[2])
    for i = 1, #entries do
        local it, mark = entries[i], marks[i + 2]
        it.sign = mark and -mark or queue.time_of(it.ticket)
        it.lives = counts[i * 2] > 0 and (alive.is_young(it)
            or clock.is_near(it.sign, NEAR) or is_spared(it.sign)) or false
    end
    return nil
end
