-- SPDX-License-Identifier: MIT
-- books: how many permits there are, and giving them from one to another.
--
-- Whatever is done, the counter and the number of permits in the zset add up to
-- the same: N. What is taken from one is given to the other, or it is undone.
--
-- books.was, .sums  the record, and what it has of a semaphore
-- books.free         permits that nobody has, of which there may be less than
--                    none; nil: no number is set
-- books.taken        permits that somebody has, or had until the lease ended
-- books.all          N; nil: no number is set
-- calls: HDEL HSET ZADD ZREM
-- needs: clock failed fences past permits publish queue sides

local books = {}

-- At most so many permits whose lease has ended are taken back in one call, as
-- many as one claim may have; and so many go into one command.
local MOST = 1000
-- So many are looked at for one of another library's, those that end first; from 0.
local FEW = '127'
-- The longest time for which holds are renewed without the record, whatever their
-- clients' fence_keep_ms: that of whoever asks says nothing of theirs.
local ALONE = 900000

-- Reads them. to: the keys counter, zset, record, queue and holders. Returns an
-- error or nil. A counter that is gone makes the name of a plain semaphore ours
-- to set; a latch that is open has no counter either, and stays one.
function books.look(to)
    clock.look()
    local both = redis.call('MGET', to.counter, to.record)
    -- MGET says nothing of a key of another type.
    local free = both[1] or redis.pcall('GET', to.counter)
    local taken = redis.pcall('ZCARD', to.zset)
    local bad = failed(free) or failed(taken)
    if bad and string.find(bad.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the key is not a semaphore')
    elseif bad then
        return bad
    elseif free and not string.find(free, '^-?%d+$') then
        return redis.error_reply('LKTYPE the key is not a counter')
    end
    local layout = string.sub(both[2] or '', 1, 2)
    local kind = layout == form.layout_latch and 'latch'
        or layout == form.layout_plain_semaphore and free
        and 'plain'
    if kind then
        return redis.error_reply('LKTYPE the name is in use as another kind: '
            .. kind)
    end
    books.was, bad = past.read(both[2], form.layout_semaphore)
    if not books.was then
        return bad
    end
    books.is_known = layout == form.layout_semaphore
    books.is_lost = not both[2]
    books.sums = sums.read(books.was.more) or {number = '0', ends = '0'}
    books.free, books.taken = free and tonumber(free) or nil, taken
    books.all = free and books.free + taken or nil
    return nil
end

-- Puts back what is known by the holders of a record that is gone: no fence that
-- somebody has is given again, and N is what it was.
local function restore(to)
    local known = redis.call('HGETALL', to.holders)
    for i = 2, #known, 2 do
        local it = hold.read(known[i])
        if it and it.fence - books.was.fence > 0 then
            books.was.fence = it.fence
        end
    end
    if books.taken > 0 then
        books.sums.number = queue.text(books.all or 0)
    end
end

-- Puts the permits of ours back that went with the zset, which somebody deleted
-- or the server evicted: it is empty, and just as many as are known of here are
-- missing to N. Where it still has some, Redisson took the others; where all
-- leases have ended, it may have taken all. The leases of those that come back
-- are not known any more: they end with the holders, unless they are given back
-- before.
function books.recover(to)
    if books.is_lost then
        restore(to)
    end
    local missing = books.sums.number - (books.free or 0)
    if not books.free or books.taken > 0 or missing <= 0 or missing > MOST
            or books.sums.ends + ALONE <= clock.ms
            or redis.call('HLEN', to.holders) ~= missing then
        return
    end
    local lost, members = redis.call('HKEYS', to.holders), {}
    local score = queue.text(clock.ms
        + math.max(redis.call('PTTL', to.holders), 0))
    for i = 1, #lost do
        members[i * 2 - 1], members[i * 2] = score, lost[i]
    end
    if not failed(redis.pcall('ZADD', to.zset, unpack(members))) then
        books.taken = missing
        books.all = books.free + missing
    end
end

-- Permits whose lease has ended, which nobody took back yet. Beside Redisson
-- ours are known by the holders, all others have the skew's time left.
function books.ended(to, interop)
    if interop ~= '1' then
        return redis.call('ZRANGEBYSCORE', to.zset, '-inf',
            queue.text(clock.ms), 'LIMIT', '0', queue.text(MOST))
    end
    local found = redis.call('ZRANGEBYSCORE', to.zset, '-inf',
        queue.text(clock.ms + permits.SKEW), 'WITHSCORES', 'LIMIT', '0',
        queue.text(MOST))
    local ids, gone = {}, {}
    for i = 1, #found, 2 do
        ids[#ids + 1] = found[i]
    end
    local texts = #ids > 0 and redis.call('HMGET', to.holders, unpack(ids))
    for i = 1, #ids do
        local _, skew = permits.owner(texts[i])
        if found[i * 2] - (skew or -permits.SKEW) <= clock.ms then
            gone[#gone + 1] = ids[i]
        end
    end
    return gone
end

-- Milliseconds until the next lease ends by itself; -1: it cannot be told.
function books.left(to)
    local first = redis.pcall('ZRANGE', to.zset, '0', '0', 'WITHSCORES')
    local left = (tonumber(first[2]) or 0) - clock.ms
    return left > 0 and left < 1e13 and left or -1
end

-- Whether some permits are held by those who will never hand them over. Where
-- Redisson took as many of ours back as it holds, numbers alone would hide that.
function books.has_others(to)
    local known = redis.call('HLEN', to.holders)
    if books.taken > known then
        return true
    elseif books.taken == 0 then
        return false
    end
    local ids = redis.call('ZRANGE', to.zset, '0', FEW)
    local texts = redis.call('HMGET', to.holders, unpack(ids))
    for i = 1, #ids do
        if not texts[i] then
            books.has_stale = true
            return true
        end
    end
    return false
end

-- The record with other fields, as text.
local function noted(changes)
    local it = {}
    for name, value in pairs(books.was) do
        it[name] = value
    end
    for name, value in pairs(changes) do
        it[name] = value
    end
    it.layout = form.layout_semaphore
    it.more = sums.write(books.sums)
    return record.write(it)
end

-- Writes the record with other fields, to live for ms at least. Returns an error
-- or nil.
function books.note(to, changes, ms)
    local left = redis.pcall('PTTL', to.record)
    return failed(left) or failed(redis.pcall('SET', to.record, noted(changes),
        'PX', queue.text(math.max(left, ms))))
end

-- Makes n the number of permits. The first write is one that a full server
-- refuses. Returns an error, and then the number is as it was, or nil.
function books.set(to, n, life)
    local free, all, number = books.free, books.all, books.sums.number
    local bad = failed(free
        and redis.pcall('INCRBY', to.counter, queue.text(n - all))
        or redis.pcall('SET', to.counter, queue.text(n - books.taken)))
    if bad then
        return bad
    end
    books.free, books.all = n - books.taken, n
    books.sums.number = queue.text(n)
    bad = books.note(to, {}, life)
    if bad and free then
        redis.pcall('INCRBY', to.counter, queue.text(all - n))
    elseif bad then
        redis.pcall('DEL', to.counter)
    end
    if bad then
        books.free, books.all, books.sums.number = free, all, number
    end
    return bad
end

-- Does a command with all of a list, step values at a time. Returns the sum of
-- the answers and an error or nil.
local function do_with(command, key, list, step)
    local sum = 0
    for i = 1, #list, step do
        local reply = redis.pcall(command, key, unpack(list, i,
            math.min(i + step - 1, #list)))
        if failed(reply) then
            return sum, reply
        end
        sum = sum + reply
    end
    return sum, nil
end

-- The fields of the holders and the scores that make a member a holder under
-- this fence, for ms.
local function sign(it, fence, fields, members)
    local ids, skew = permits.ids(it.claim, tonumber(it.need)),
        permits.skew_of(it)
    local score = queue.text(clock.ms + it.ms + skew)
    for i = 1, #ids do
        fields[#fields + 1] = ids[i]
        fields[#fields + 1] = part.write({sign = '+', skew = skew,
            claim = it.claim})
        members[#members + 1] = score
        members[#members + 1] = ids[i]
    end
    fields[#fields - 2 * #ids + 2] = hold.write({claim = it.claim,
        fence = queue.text(fence), need = it.need, nonce = it.nonce,
        ticket = queue.text(it.ticket), since = queue.text(clock.ms),
        skew = skew, flag = '-', inbox = it.inbox, reason = it.reason})
    return ids, skew
end

-- Takes back what move() has written: those who came in hold nothing. change: of
-- counter and zset together, without what ZREM takes now.
function books.undo(to, ids, change)
    local removed = do_with('ZREM', to.zset, ids, MOST)
    do_with('HDEL', to.holders, ids, MOST)
    if change ~= removed and books.free then
        redis.pcall('INCRBY', to.counter, queue.text(removed - change))
    end
end

-- The permits of out, which are in the zset, come back, and their holders go.
-- Returns an error or nil; then they have ended instead, if they were to.
local function give_back(to, out)
    local bad = books.free and failed(redis.pcall('INCRBY', to.counter,
        queue.text(#out)))
    if not bad then
        local removed
        removed, bad = do_with('ZREM', to.zset, out, MOST)
        if bad and books.free then
            redis.pcall('INCRBY', to.counter, queue.text(removed - #out))
        end
    end
    if bad then
        for i = 1, #out do
            redis.pcall('ZADD', to.zset, 'XX', queue.text(clock.ms), out[i])
        end
        return bad
    end
    do_with('HDEL', to.holders, out, MOST)
    books.taken = books.taken - #out
    books.free = books.free and books.free + #out
    return nil
end

-- A write that changes nothing, which a full server does not refuse and lets
-- through what follows; what it denies, it would deny when it is too late.
-- Returns an error or nil.
function books.open(to)
    return failed(redis.pcall('ZREM', to.zset, ''))
end

-- The same, but a full server refuses it. There is a counter.
function books.try_open(to)
    return failed(redis.pcall('INCRBY', to.counter, '0')) or books.open(to)
end

-- Ends the leases of out: their permits are free. Returns an error, and then none
-- of them is, or nil.
function books.take_back(to, out)
    return books.open(to) or #out > 0 and give_back(to, out) or nil
end

-- What a move has to write: members and scores, fields of the holders, permits
-- that come back, the record; and how long holders and counter last. Or nil and an
-- error.
local function plan(to, ins, out, life)
    local p = {members = {}, fields = {}, ids = {}, texts = {}, back = {},
        fence = books.was.fence + books.was.spare, most = 0,
        left = redis.call('PTTL', to.holders),
        end_ms = redis.call('PTTL', to.counter)}
    local is_new, floor = {}, tonumber(books.was.floor)
    for i = 1, #ins do
        local it = ins[i]
        local fence, bad = fences(clock.us, queue.text(p.fence), 0, false)
        if not fence then
            return nil, bad
        end
        it.fence, p.fence = fence, fence
        it.ms = p.end_ms > 0 and math.min(it.ms, p.end_ms) or it.ms
        local own, skew = sign(it, fence, p.fields, p.members)
        for j = 1, #own do
            p.ids[#p.ids + 1], is_new[own[j]] = own[j], true
        end
        p.most, floor = math.max(p.most, it.ms + skew),
            math.max(floor, it.ticket)
        if it.ticket > 0 then
            p.texts[#p.texts + 1] = it.text
        end
    end
    for i = 1, #out do
        if not is_new[out[i]] then
            p.back[#p.back + 1] = out[i]
        end
    end
    p.floor, p.life = queue.text(floor), p.most + life
    books.sums.number = queue.text(books.all)
    books.sums.ends = queue.text(math.max(books.sums.ends,
        clock.ms + p.most))
    return p
end

-- The record of a grant: what is said of a holder is that of the last one.
local function granted(p, it, turn_text)
    return noted({fence = queue.text(p.fence), spare = '0', floor = p.floor,
        flag = '-', turn = turn_text, since = queue.text(clock.ms),
        claim = it.claim, nonce = it.nonce, mode = it.mode, need = it.need,
        lease = it.lease, base = it.base, inbox = it.inbox,
        reason = it.reason})
end

-- Writes those who come in, and the record. As in Redisson, the zset ends with
-- the counter. Returns how many permits are new in the zset, nil: nothing was
-- written, and an error or nil.
local function write_ins(to, p, text, life)
    local added, bad = do_with('ZADD', to.zset, p.members, 2 * MOST)
    if bad and added == 0 then
        return nil, bad
    elseif not bad then
        bad = select(2, do_with('HSET', to.holders, p.fields, 2 * MOST))
    end
    if not bad and p.left < p.life then
        -- Longer than it has to, so that most grants need no command for it.
        bad = failed(redis.pcall('PEXPIRE', to.holders,
            queue.text(p.life + life)))
    end
    if not bad and p.end_ms > 0 then
        bad = failed(redis.pcall('PEXPIRE', to.zset, queue.text(p.end_ms)))
    end
    return added, bad or failed(redis.pcall('SET', to.record, text, 'PX',
        queue.text(math.max(p.left, p.life))))
end

-- Changes the counter. Returns an error or nil.
local function pay(to, change)
    return change ~= 0 and failed(redis.pcall('INCRBY', to.counter,
        queue.text(change))) or nil
end

-- Pays what is left to pay, and takes those out who go: of the queue, and then of
-- the zset, which whoever came here was seen to be allowed. Returns what counter and
-- zset have together more than before, and an error or nil.
local function write_outs(to, p, change)
    local bad = pay(to, change)
    if bad then
        return 0, bad
    end
    bad = #p.texts > 0 and failed(redis.pcall('ZREM', to.queue,
        unpack(p.texts)))
    if bad then
        return change, bad
    end
    local removed
    removed, bad = do_with('ZREM', to.zset, p.back, MOST)
    return change - removed, bad
end

-- Makes members holders, each for its .ms, which it shortens where the counter ends
-- before that, under fences that it sets as .fence; what out has comes back by that.
-- turned: whose turn it is, nil: that is to stay.
-- Those who come in are written before the others go, and paid for before that:
-- whoever may pay may take that back, while a permit that cannot be taken out
-- again would be one too many. Numbers are looked at before anything is written.
-- Returns nil; or an error, and then all is as before. The first write is one that a
-- full server refuses.
function books.move(to, ins, out, turned, life)
    local p, bad = plan(to, ins, out, life)
    if not p then
        return bad
    end
    local turn_text = turned and sides.taken(turned, books.all,
        turned.side == 't' and redis.call('HLEN', to.holders) or 1)
    local paid, more = math.min(#p.back - #p.ids, 0), 0
    bad = pay(to, paid)
    if bad then
        return bad
    end
    local added
    added, bad = write_ins(to, p, granted(p, ins[#ins],
        turn_text or books.was.turn), life)
    if added and not bad then
        more, bad = write_outs(to, p, #p.back - added - paid)
    end
    if bad then
        books.undo(to, added and p.ids or {}, paid + (added or 0) + more)
        return bad
    end
    do_with('HDEL', to.holders, p.back, MOST)
    books.taken = books.taken + added - #p.back
    books.free = books.free + #p.back - added
    return nil
end

-- Tells Redisson's waiters how many are free, in its way. Returns an error or
-- nil.
function books.tell(to)
    if (books.free or 0) <= 0 then
        return nil
    end
    return failed(publish(to.channel, queue.text(books.free)))
end

-- Forgets permits of ours that Redisson took back: a few, where more are known
-- than there are, or where one of Redisson's was seen among as many. Any number is a
-- place to begin the scan, which ends with the hash: every other time it begins at 0,
-- or what stands first was seldom met. Behind all that was to be written; what it may
-- not do, it leaves.
function books.tidy(to)
    local known = redis.pcall('HLEN', to.holders)
    if failed(known) or known <= books.taken and not books.has_stale then
        return
    end
    local from = clock.us % 2 == 0 and 0
        or math.floor(clock.us / 2) % 1073741824
    local found = redis.pcall('HSCAN', to.holders, queue.text(from), 'COUNT',
        '16')
    local ids, gone = {}, {}
    for i = 1, failed(found) and 0 or math.min(#found[2], 2 * MOST), 2 do
        ids[#ids + 1] = found[2][i]
    end
    local scores = #ids > 0 and redis.pcall('ZMSCORE', to.zset, unpack(ids))
    for i = 1, failed(scores) and 0 or #ids do
        if not scores[i] then
            gone[#gone + 1] = ids[i]
        end
    end
    do_with('HDEL', to.holders, gone, MOST)
end
