-- SPDX-License-Identifier: MIT
-- touch: a waiter looks what became of the latch, and says that it lives.
--
-- Invariants: those of acquire. A full server does not refuse it. What
-- Redisson armed stays on record as long as somebody waits for it.
-- needs: generation noted waits master

local it, bad = generation.read(count_key, record_key, arrived_key)
if not it then
    return bad
end
bad = master(record_key) or noted.catch_up({count = count_key,
    record = record_key, queue = queue_key, arrived = arrived_key, db = db,
    news = news, life = life, nonce = nonce}, it)
if bad then
    return bad
elseif it.phase == 'open' then
    return {OPENED, it.gen, it.opened, it.gone}
end
waits.note(queue_key, own, uuid)
if it.foreign and it.phase == 'armed' then
    redis.pcall('PEXPIRE', record_key, life)
end
return {WAITS, generation.look(it), generation.awaited(it),
    generation.secret(it), it.opened, it.gone}
