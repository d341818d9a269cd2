-- SPDX-License-Identifier: MIT
-- part_permit_ids: which permits are a claim's, and how long they live.
-- Needs: part_error, and that part_clock's clock was looked at for lengthen
-- and may_live.
--
-- A permit is a member of the zset `{name}:timeout`: 16 bytes. Those of a claim
-- follow from its id, so nobody has to be told them. The hash
-- `latchkey:holders:{name}` has them as well; under the first of a claim stands
-- what is known of it: "<claim> <fence> <permits> <ticket> <since ms> <skew>
-- <inbox> <reason>", under the others "+<skew> <claim>". The zset is the truth:
-- a claim of which one permit is not in it holds nothing any more.
--
-- A score is when the lease ends, in ms of the server's clock, plus the skew:
-- so much more is given where Redisson's hosts go by clocks of their own.

local permit = {}

-- The record of who holds lives so much longer than it has to, so that most
-- grants need no command for it.
local SLACK_MS = 3600000

-- A claim's i-th permit.
local function id_of(claim, i)
    local hex = redis.sha1hex(claim .. ':' .. i)
    return struct.pack('>I4I4I4I4', tonumber(string.sub(hex, 1, 8), 16),
        tonumber(string.sub(hex, 9, 16), 16),
        tonumber(string.sub(hex, 17, 24), 16),
        tonumber(string.sub(hex, 25, 32), 16))
end

-- A permit as Redisson writes it, and back; nil if it is not one.
function permit.hex_of(id)
    return (string.gsub(id, '.', function(byte)
        return string.format('%02x', string.byte(byte))
    end))
end

function permit.id_of_hex(hex)
    if #hex ~= 32 or string.find(hex, '%X') then
        return nil
    end
    return (string.gsub(hex, '..', function(pair)
        return string.char(tonumber(pair, 16))
    end))
end

-- All permits of a claim that has n.
function permit.ids(claim, n)
    local ids = {}
    for i = 1, n do
        ids[i] = id_of(claim, i)
    end
    return ids
end

-- What a field of the holders says, or nil if it is not one of ours.
function permit.unpack(packed)
    local claim, fence, n, ticket, since, skew, inbox, reason = string.match(
        packed or '', '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S*) (.*)$')
    if not claim then
        return nil
    end
    return {claim = claim, fence = tonumber(fence), n = tonumber(n),
        ticket = tonumber(ticket), since = tonumber(since),
        skew = tonumber(skew), inbox = inbox, reason = reason}
end

-- The fields of the holders for a claim with these permits.
function permit.fields(own, ids)
    local fields = {ids[1], string.format('%s %.0f %.0f %.0f %.0f %.0f ',
        own.claim, own.fence, #ids, own.ticket, own.since, own.skew)
        .. own.inbox .. ' ' .. own.reason}
    for i = 2, #ids do
        fields[i * 2 - 1] = ids[i]
        fields[i * 2] = string.format('+%.0f %s', own.skew, own.claim)
    end
    return fields
end

-- Whose permit a field of the holders is about, and its skew; nil: nobody's of
-- ours.
function permit.owner(packed)
    local own = permit.unpack(packed)
    if own then
        return own.claim, own.skew
    end
    local skew, claim = string.match(packed or '', '^%+(%d+) (%S+)$')
    return claim, tonumber(skew)
end

-- What is recorded of a claim, with its permits in .ids, their scores in
-- .scores and, if all of them are in the zset, the end of its lease in .till.
-- Nil, and perhaps an error: nothing is.
function permit.look(zset, holders, claim)
    local packed = redis.pcall('HGET', holders, id_of(claim, 1))
    local own = not failed(packed) and permit.unpack(packed)
    if not own then
        return nil, failed(packed)
    end
    own.ids, own.scores = permit.ids(claim, own.n), {}
    local till = math.huge
    for i = 1, own.n do
        local score = redis.pcall('ZSCORE', zset, own.ids[i])
        if not score or failed(score) then
            return not score and own or nil, failed(score)
        end
        own.scores[i] = tonumber(score)
        till = math.min(till, own.scores[i] - own.skew)
    end
    own.till = till
    return own
end

-- The holder that who names, by its claim or by a permit, which may be another
-- library's. Returns what is recorded of it, as permit.look, the permit, nil if
-- none is named, and an error.
function permit.find(zset, holders, who)
    local id = permit.id_of_hex(who)
    local claim = id and permit.owner(redis.call('HGET', holders, id))
    local own, bad = permit.look(zset, holders, claim or who)
    return own, id, bad
end

-- Puts permits in, or moves their end. Returns how many are new, or an error as
-- redis.pcall does.
function permit.put(zset, ids, score)
    local members = {}
    for i = 1, #ids do
        members[i * 2 - 1] = score
        members[i * 2] = ids[i]
    end
    return redis.pcall('ZADD', zset, unpack(members))
end

-- Keeps the record of who holds for at least ms; must is true where it has to
-- be written to, which a full server does not refuse. Returns an error or nil.
function permit.keep(holders, ms, must)
    local left = redis.pcall('PTTL', holders)
    if failed(left) or left >= ms and not must then
        return failed(left)
    end
    return failed(redis.pcall('PEXPIRE', holders,
        math.max(left, ms + SLACK_MS)))
end

-- Whether a lease of those known of may last still; ends: no lease that was
-- given ends later. Where one was lengthened, so was the record of who holds.
function permit.may_live(holders, ends)
    return ends > clock.ms or redis.call('PTTL', holders) > SLACK_MS
end

-- Makes the lease of a claim that holds last at least ms from now. Returns how
-- long it lasts, or an error as redis.pcall does.
function permit.lengthen(zset, holders, own, ms)
    local bad = permit.keep(holders, ms + own.skew, true)
    if bad then
        return bad
    end
    local score, short = clock.ms + ms + own.skew, {}
    for i = 1, own.n do
        if own.scores[i] < score then
            short[#short + 1] = own.ids[i]
        end
    end
    if #short > 0 then
        bad = failed(permit.put(zset, short, score))
    end
    return bad or math.max(own.till - clock.ms, ms)
end
