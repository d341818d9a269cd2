-- SPDX-License-Identifier: MIT
-- permits: which permits are a claim's, and who has them.
--
-- A permit is a member of the zset: 16 bytes. Those of a claim follow from it, so
-- nobody has to be told them. The zset is the truth: a claim of which one permit
-- is not in it holds nothing any more.
-- needs: failed

local permits = {}

-- Where Redisson's hosts end leases by their own clocks, a permit of theirs is
-- taken back so much later than it says, and one of ours says so much more.
permits.SKEW = 10000
-- So many has one claim at most.
permits.MOST = 1000

-- A claim's i-th permit.
local function id_of(claim, i)
    local hex = redis.sha1hex(claim .. ':' .. i)
    return struct.pack('>I4I4I4I4', tonumber(string.sub(hex, 1, 8), 16),
        tonumber(string.sub(hex, 9, 16), 16),
        tonumber(string.sub(hex, 17, 24), 16),
        tonumber(string.sub(hex, 25, 32), 16))
end

-- All permits of a claim that has n.
function permits.ids(claim, n)
    local ids = {}
    for i = 1, n do
        ids[i] = id_of(claim, i)
    end
    return ids
end

-- A permit as Redisson writes it, and back; nil if it is not one.
function permits.hex_of(id)
    return (string.gsub(id, '.', function(byte)
        return string.format('%02x', string.byte(byte))
    end))
end

function permits.id_of_hex(hex)
    if #hex ~= 32 or string.find(hex, '%X') then
        return nil
    end
    return (string.gsub(hex, '..', function(pair)
        return string.char(tonumber(pair, 16))
    end))
end

-- The skew of a member's leases.
function permits.skew_of(it)
    return it.base == 's' and permits.SKEW or 0
end

-- Whose permit a field of the holders is about, and its skew; nil: nobody's of
-- ours.
function permits.owner(text)
    local it = text and (hold.read(text) or part.read(text))
    if not it then
        return nil
    end
    return it.claim, tonumber(it.skew)
end

-- What is known of a claim: its hold, its permits as .ids, those that are there
-- as .there, their scores as .scores and, if all are there, the end of its lease
-- as .till. Nil, and perhaps an error: nothing is.
function permits.find(to, claim)
    local text = redis.pcall('HGET', to.holders, id_of(claim, 1))
    local it = not failed(text) and text and hold.read(text)
    if not it or tonumber(it.need) > permits.MOST then
        return nil, failed(text)
    end
    it.ids, it.there = permits.ids(claim, tonumber(it.need)), {}
    it.scores = redis.pcall('ZMSCORE', to.zset, unpack(it.ids))
    if failed(it.scores) then
        return nil, it.scores
    end
    local till = math.huge
    for i = 1, #it.ids do
        if it.scores[i] then
            it.there[#it.there + 1] = it.ids[i]
            till = math.min(till, it.scores[i] - it.skew)
        end
    end
    it.till = #it.there == #it.ids and till or nil
    return it
end

-- The hold that a claim has, or one of whose permits is named, which may be
-- another library's: what is known of it, the permit, nil if none is named, and
-- an error.
function permits.named(to, who)
    local id = permits.id_of_hex(who)
    local claim = id and permits.owner(redis.call('HGET', to.holders, id))
    local it, bad = permits.find(to, claim or who)
    return it, id, bad
end
