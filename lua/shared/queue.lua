-- SPDX-License-Identifier: MIT
-- queue: one sorted set with members, whose score is band * 2^48 + ticket, and
-- with the marks of clients, whose score is minus the time of the mark in ms.
-- needs: clock

local queue = {}

local BAND = 281474976710656
-- All of it lives for so long from the last touch.
local LIFE = '660000'

queue.PARKED, queue.VOID, queue.LIFE = 8, 9, LIFE

-- Numbers of more than 14 digits are not to be left to `..`.
function queue.text(number)
    return string.format('%.0f', number)
end

function queue.score(band, ticket)
    return string.format('%.0f', band * BAND + ticket)
end

-- The band and the ticket that a score holds.
function queue.parts(score)
    local band = math.floor(score / BAND)
    return band, score - band * BAND
end

-- The first members of a band, texts and scores in turn.
function queue.first(key, band, count)
    return redis.call('ZRANGEBYSCORE', key, queue.score(band, 0),
        '(' .. queue.score(band + 1, 0), 'WITHSCORES', 'LIMIT', '0', count)
end

-- The server's time, in ms, of which a ticket was made.
function queue.time_of(ticket)
    return math.floor(ticket * 16 / 1000)
end

-- The member that a text is, with its text, band and ticket; nil: it is none, or
-- one that no client writes.
function queue.entry(text, score)
    local it = member.read(text)
    if not it or #it.mode > 1 or #it.lease > 12
            or not string.find(it.claim, ':%d+$') then
        return nil
    end
    it.text = text
    it.band, it.ticket = queue.parts(tonumber(score))
    return it
end

-- Adds to parked, for ZADD, that a text is passed over and keeps its place.
function queue.park(parked, text, score)
    local _, ticket = queue.parts(tonumber(score))
    parked[#parked + 1] = queue.score(queue.PARKED, ticket)
    parked[#parked + 1] = text
end
