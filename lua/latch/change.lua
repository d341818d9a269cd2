-- SPDX-License-Identifier: MIT
-- change: all that is done to a latch, but for waiting.
--
-- what  s  arm it with `number`, unless it was armed or open: then no
--       r  arm it with `number`, whatever it was
--       d  count it down by `number`; more than is left does no harm
--       a  `who` is here, one of `number`: the first arms it, the last opens it.
--          other: others expect another number, size
--       q  `who` takes its arrival back. done: the latch is open, the others
--          start; no: it is not, and `who` is not counted in it
--       x  make it unset, and send its waiters away; no: it was
--
-- op is the change's own number. ttl in ms; 0: as it was set, and of s and r for
-- ever. nonce: of the generation that it may begin. unset: there was nothing to
-- count. denied: the server denied to tell the waiters, who will look.
--
-- Invariants: a change counts once, however often it is sent, and answers as it
-- did, also one that changed nothing; only denied is told once. A member counts
-- once in a generation. It opens in the one call that counts the last. Half done it
-- is never taken for open. What arms is refused by a full server before anything is
-- written, and nothing else. A replica refuses all of it.
-- A count of an armed latch without a time, of which others changed nothing, is done
-- before `rest`.
-- needs: failed clock memo publish

local both = what == 'd' and ttl == '0'
    and redis.call('MGET', count_key, record_key) or {}
local layout, fence, spare, more = record.only(both[2] or '', layout, fence,
    spare, more)
local phase, gen, gone, size, stays, till, foreign, met, secret =
    latch_marks.only(more or '', phase, gen, gone, size, ttl, till, foreign,
        met, nonce)
local is_plain = layout == form.layout_latch and phase == 'armed'
    and stays .. till .. foreign == '000' and gen + 3 <= 9007199254740991
    and string.find(both[1] or '', '^[1-9]%d*$')

if is_plain then
    memo.look(memo_key, op)
    is_plain = not memo.words
end
if is_plain then
    local bad = memo.open() or memo.note('done')
    if bad then
        return bad
    elseif tonumber(number) < tonumber(both[1]) then
        bad = failed(redis.pcall('DECRBY', count_key, number))
        if bad then
            memo.drop()
        end
        return bad or {DONE, 0}
    end
    bad = failed(redis.pcall('SET', record_key, record.write({
            layout = form.layout_latch, fence = fence, spare = spare,
            floor = '0', flag = '-', turn = '-', more = latch_marks.write({
                phase = 'open', gen = gen, opened = gen, gone = gone,
                size = size, ttl = '0', till = '0', foreign = '0', met = met,
                nonce = secret}),
            since = string.format('%.0f', clock.ms), claim = '-', nonce = '-',
            mode = '-', need = '0', lease = '0', base = '-', inbox = '-',
            reason = ''}), 'PX', life))
        or failed(redis.pcall('PEXPIRE', arrived_key, life))
        or failed(redis.pcall('DEL', count_key))
    if bad then
        memo.drop()
        redis.pcall('SET', record_key, both[2])
        redis.pcall('PERSIST', arrived_key)
        return bad
    end
    bad = failed(publish(news, opened.write({word = 'opened', db = db,
        family = 'latch', gen = gen, nonce = secret, name = count_key})))
    redis.pcall('DEL', queue_key)
    bad = failed(publish(channel, '0')) or bad
    return {DONE, bad and 1 or 0}
end

-- rest
-- needs: generation noted change_steps

local it, bad = generation.read(count_key, record_key, arrived_key)
if not it then
    return bad
end
local ANSWERS = {done = {DONE, 0}, no = {NO}, unset = {UNSET},
    other = {OTHER, it.size}}
memo.look(memo_key, op)
local size, is_unset = tonumber(number), it.phase == 'unset'
local arms = not memo.words
    and (what == 'r' or is_unset and (what == 's' or what == 'a'))
bad = not arms and memo.open() -- a replica refuses it
if bad then
    return bad
elseif memo.words then
    return ANSWERS[memo.words]
end
local to = {count = count_key, record = record_key, queue = queue_key,
    arrived = arrived_key, db = db, channel = channel, news = news,
    life = life, nonce = nonce}
bad = noted.catch_up(to, it)
if bad then
    return bad
end

local at = (what == 'a' or what == 'q') and it.phase == 'armed'
    and change_steps.arrived(arrived_key, it, who)

-- The word for a change that changes nothing; nil: it does.
local function idle()
    if arms then
        return nil
    elseif what == 's' or is_unset and (what == 'x' or what == 'q') then
        return 'no'
    elseif what == 'd' and is_unset then
        return 'unset'
    elseif what == 'a' and it.size ~= 0 and it.size ~= size then
        return 'other'
    elseif it.phase == 'open' and what ~= 'x' or what == 'a' and at then
        return 'done'
    end
    return what == 'q' and not at and 'no' or nil
end

local word = idle()
if word then
    return memo.note(word) or ANSWERS[word]
end
local is_last = what == 'q'
    and change_steps.is_last(arrived_key, queue_key, it)
local before = change_steps.copy(it)
bad = memo.note(what == 'q' and 'no' or 'done')
if bad then
    return bad
elseif arms then
    bad = change_steps.arm(to, it, size, tonumber(ttl), what == 'a' and who)
elseif what == 'd' then
    bad = change_steps.count(to, it, size, tonumber(ttl), 0)
elseif what == 'a' then
    bad = change_steps.enter(to, it, who, nil)
        or change_steps.count(to, it, 1, tonumber(ttl), size)
elseif what == 'x' then
    bad = change_steps.drop(to, it)
elseif is_last then
    bad = change_steps.exit(to, who) or change_steps.disarm(to, it)
else
    bad = change_steps.exit(to, who)
        or change_steps.count(to, it, -1, tonumber(ttl), 0)
end
if bad then
    memo.drop()
    if what == 'a' then
        change_steps.exit(to, who)
        change_steps.clear(to, who)
    elseif what == 'q' then
        change_steps.enter(to, it, who, at)
    end
    change_steps.undo(to, before)
    return bad
elseif what == 'q' then
    if not is_last then
        change_steps.clear(to, who)
    end
    return {NO}
end
return {DONE, (arms or what == 'x' or it.phase == 'open')
    and change_steps.tell(to, it, before.text) or 0}
