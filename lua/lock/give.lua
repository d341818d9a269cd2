-- SPDX-License-Identifier: MIT
-- give: who of the queue is next, and making that one the owner.
-- needs: audience failed fences hand holder line queue message alive turns

local give = {}

-- A grant lasts at most so long until its owner is heard of.
local CLAIM_MS = 3000
-- So many are looked at in one call.
local LOOKS = 64

-- Finds who is next and alive. mine holds the texts of members that are known
-- to be; back those that return to their places. Sets
--   it       that member, nil: nobody is there
--   parked   what ZADD parks, behind the first write
--   more     1: there are more to look at than a call may
--   heard    how many listen on Redisson's channel
-- Returns this; or nil and the error by which it could not be found out, and
-- the first member.
function give.find(key, channel, mine, back, leaving)
    local found = {parked = {}, more = 0}
    local entries, is_full
    entries, is_full, found.parked = line.first(key, holder.MODES,
        leaving and 2 or 1, back, leaving)
    if #found.parked > 0 then
        entries, is_full, found.parked = line.first(key, holder.MODES, LOOKS,
            back, leaving)
    end
    local head = entries[1]
    local counts = head
        and audience({channel, message.inbox(head, key)})
        or audience({channel})
    if failed(counts) and head and mine[head.text] then
        found.it, found.heard = head, 0
        return found
    elseif failed(counts) then
        return nil, counts, head
    end
    found.heard = counts[2]
    if not head or mine[head.text]
            or counts[4] > 0 and alive.is_young(head) then
        found.it = head
        found.more = not head and is_full and 1 or 0
        return found
    end
    entries, is_full, found.parked = line.first(key, holder.MODES, LOOKS, back,
        leaving)
    local bad = alive.look(key, entries)
    if bad then
        return nil, bad, head
    end
    for i = 1, #entries do
        local it = entries[i]
        if it.lives or mine[it.text] then
            found.it = it
            return found
        end
        queue.park(found.parked, it.text, it.ticket)
    end
    found.more = is_full and 1 or 0
    return found
end

-- The writes of a grant. Redisson's count goes first, behind one that changes
-- nothing and that a full server does not refuse: one that is ahead does no
-- harm. A hash that is not there gets the field before its end.
local function write(to, it, fields, grant)
    local bad = failed(redis.pcall('ZREM', to.queue, ''))
    if not bad and grant.token then
        bad = failed(redis.pcall('SET', to.token,
            queue.text(grant.fence + grant.spare), 'KEEPTTL'))
    end
    local life = queue.text(it.lease + to.life)
    if bad then
        return bad
    elseif #fields > 0 then
        return hand(to.lock, to.record, to.queue, it.text, it.claim, fields[1],
            grant.ms, grant.text, life) or fields[2]
            and failed(redis.pcall('HDEL', to.lock, unpack(fields, 2)))
    end
    return failed(redis.pcall('HSET', to.lock, it.claim, '1'))
        or failed(redis.pcall('PEXPIRE', to.lock, grant.ms))
        or failed(redis.pcall('SET', to.record, grant.text, 'PX', life))
        or failed(redis.pcall('ZREM', to.queue, it.text))
end

-- Takes a grant back: the name is free, the member waits as before and looks
-- for itself. What was free before goes whole, so that one right of two is
-- enough. Returns an error or nil: then owners stand in the hash, as they may if a
-- server stops writing in the middle, and whoever was to go is told that it has not.
function give.undo(to, it, fields)
    local reply
    if #fields > 0 then
        reply = redis.pcall('HDEL', to.lock, it.claim, unpack(fields))
    elseif redis.pcall('DEL', to.lock) ~= 1 then
        reply = redis.pcall('HDEL', to.lock, it.claim)
    end
    if failed(reply) then
        return reply
    end
    message.opened(it, to.queue, to.db, 'lock', queue.text(it.ticket), to.lock)
    turns.tell(to.fairq, to.channel)
    return nil
end

-- Gives the name to a member. to: the keys lock, record, queue, token, fairq
-- and channel, db, life. fields: of those that go; none: the name is free; the
-- member may stand among them, where an earlier grant could not be taken back.
-- ms: its lease at first, nil: the claim lease. Numbers are looked at before
-- anything is written; an error of theirs comes alone. Returns {fence, spare,
-- ms}; or nil, an error, and true if what was written was taken back.
function give.hand(to, it, fields, was, token, interop, turned, ms)
    local fence, spare = fences(clock.us, was.fence, was.spare, token)
    if not fence then
        return nil, spare
    end
    local grant = {fence = fence, spare = spare,
        ms = ms or math.min(tonumber(it.lease), CLAIM_MS),
        token = token or interop == '1',
        text = holder.sign(was, it, fence, spare, it.ticket,
            #fields > 0 and turns.handed(turned) or turns.taken(turned))}
    local gone = {}
    for _, field in ipairs(fields) do
        gone[#gone + 1] = field ~= it.claim and field or nil
    end
    local bad = write(to, it, gone, grant)
    if bad then
        return nil, bad, not give.undo(to, it, fields)
    end
    return grant
end

-- Tells a member of its grant. An error takes nothing back: the next touch
-- finds the grant.
function give.tell(to, it, grant)
    return message.granted(it, to.queue, to.db, 'lock', queue.text(it.ticket),
        queue.text(grant.fence), grant.spare, grant.ms, to.lock)
end
