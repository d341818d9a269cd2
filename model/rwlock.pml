/* SPDX-License-Identifier: MIT
 *
 * Who has a read-write lock of layout 3, as a model for Spin: docs/layout-3-rwlock.md.
 *
 * Three clients, one server. The first is an upgradeable reader: it reads, writes by an
 * upgrade, reads again by a downgrade. The second reads, the third writes. Each waits,
 * is granted by a message or a reply, keeps, closes, gives up. A script may be cut off
 * behind any of its writes; a connection may break, and then what was asked is lost or
 * runs later; messages and replies lie for any time; anybody may be unheard. Time passes
 * at any moment. Lines are sets: any order of those that wait is tried.
 *
 * What is checked, in every state that can be reached: nobody believes that it writes
 * while another believes that it reads or writes.
 *
 * -DNO_<RULE> takes a rule out; the model must fail then. tools/check-model.sh does so
 * with each of them.
 *
 *   OWN     a touch tells a reader the end of its own timeout key, if that is earlier
 *   LONGER  the hash is never shortened while it changes hands
 *   SILENT  who has asked to close, upgrade or downgrade believes nothing of that claim
 *   LEAST   a reader's keep tells the earlier end, of the hash or of its timeout key
 *   THERE   who has a timeout key is not swept
 *   BOUND   a grant counts from the request that was last replied to by "waits"
 *   REST    a close or a change of mode that was cut off is not sent again
 *   STAYS   an upgrade that nobody heard is not undone
 */

#define CLIENTS 3
#define LEASE   1 /* of a claim */
#define LONG    2 /* behind a keep */
#define ENDLESS 7
#ifndef CUTS
#define CUTS 0
#endif
#ifndef BREAKS
#define BREAKS 0
#endif
#ifndef KEEPS
#define KEEPS 1
#endif
#ifndef DEAFS
#define DEAFS 0
#endif

mtype = { ACQUIRE, TOUCH, CLOSE, KEEP, UPGRADE, DOWNGRADE, DROP };
mtype = { TAKEN, WAITING, GONE, DONE, BROKEN };
/* RISES: it reads, and waits to write; DROPS: its fields are removed, nothing more. */
mtype = { IDLE, SEEKS, WAITS, READS, WRITES, RISES, ASKS, DROPS, OVER };
mtype = { NOBODY, READERS, WRITER };

/* ---- the server ---------------------------------------------------------- */

mtype mode = NOBODY;
byte readers;          /* fields of the hash, a bit for each client */
byte writers;
byte left;             /* until the hash ends */
byte timeout_of[CLIENTS]; /* until a reader's timeout key ends; 0: it is gone */
byte read_line, write_line;
bool rising;           /* the first client's upgrade waits */
byte cuts, breaks, keeps, deafs;

typedef client {
    mtype state = IDLE;
    mtype wire;  /* a request or a reply under way */
    mtype asked; /* the request to which that belongs */
    mtype late;  /* a request of a connection that was given up */
    byte sent;   /* what a claim lease from its sending has left */
    byte told;   /* what the reply tells, and has left since */
    byte bound;  /* how long a grant may be believed in */
    byte reads;  /* how long it believes that it reads, and writes */
    byte writes;
    bool writing; /* what was taken, in a reply: to write */
    bool read_grant, write_grant;
};
client clients[CLIENTS];

#define me       clients[k]
#define BIT(k)   (1 << (k))
#define reads_in(k)  ((readers & BIT(k)) != 0)
#define writes_in(k) ((writers & BIT(k)) != 0)
#define is_request(w) \
    (w == ACQUIRE || w == TOUCH || w == CLOSE || w == KEEP || \
     w == UPGRADE || w == DOWNGRADE || w == DROP)
#define wants_write(k) (k == 2 || (k == 0 && rising))
#define longer(n) left = (left == ENDLESS || left < n -> n : left)
#ifdef NO_LONGER
#define hand_over_end left = LEASE
#else
#define hand_over_end longer(LEASE)
#endif

/* A hash without fields is gone; mode alone is a field. */
inline tidy()
{
    left = (readers == 0 && writers == 0 && mode == NOBODY -> 0 : left)
}

inline remove_all()
{
    readers = 0; writers = 0; mode = NOBODY; left = 0
}

inline cut()
{
    if
    :: cuts < CUTS -> cuts++; goto broken
    :: true
    fi
}

inline say(reply, n)
{
    if
    :: heard -> me.wire = reply; me.told = n
    :: else
    fi
}

/* j is let in to write, or one of the readers; unheard, it is taken out again. */
inline publish_write(j)
{
    if
    :: clients[j].write_grant = true
    :: deafs < DEAFS -> deafs++;
        writers = writers & ~BIT(j); mode = (writers == 0 && readers == 0 -> NOBODY : mode);
        tidy(); cut()
    fi
}

/* An upgrade stays, heard or not: its client may believe in its read. */
inline publish_upgrade(j)
{
    if
    :: clients[j].write_grant = true
#ifdef NO_STAYS
    :: deafs < DEAFS -> deafs++; remove_all()
#else
    :: deafs < DEAFS -> deafs++
#endif
    fi
}

inline publish_read(j)
{
    if
    :: (came & BIT(j)) == 0
    :: (came & BIT(j)) != 0 -> clients[j].read_grant = true
    :: (came & BIT(j)) != 0 && deafs < DEAFS -> deafs++;
        readers = readers & ~BIT(j); cut()
    fi
}

inline let_readers_in()
{
    came = read_line; read_line = 0; cut();
    hand_over_end; cut();
    timeout_of[0] = ((came & 1) != 0 -> LEASE : timeout_of[0]);
    timeout_of[1] = ((came & 2) != 0 -> LEASE : timeout_of[1]); cut();
    mode = READERS; readers = readers | came; cut();
    writers = 0; cut();
    publish_read(0); publish_read(1)
}

inline acquire()
{
    if
    :: k == 2 && mode == NOBODY && write_line == 0 && read_line == 0 ->
        mode = WRITER; writers = BIT(k); left = ENDLESS; cut();
        left = LEASE; cut();
        me.writing = true; say(TAKEN, LEASE)
    :: k != 2 && mode != WRITER && write_line == 0 && !rising ->
        timeout_of[k] = LEASE; cut();
        if
        :: mode == READERS -> longer(LEASE); cut(); readers = readers | BIT(k); cut()
        :: else -> mode = READERS; readers = readers | BIT(k); left = ENDLESS; cut();
            left = LEASE; cut()
        fi;
        me.writing = false; say(TAKEN, LEASE)
    :: else ->
        if
        :: k == 2 -> write_line = BIT(2)
        :: else -> read_line = read_line | BIT(k)
        fi; cut();
        say(WAITING, 0)
    fi
}

inline close()
{
    if
    :: writes_in(k) ->
        if
        :: read_line != 0 -> let_readers_in()
        :: read_line == 0 && write_line != 0 && !writes_in(2) ->
            write_line = 0; cut();
            hand_over_end; cut();
            writers = writers | BIT(2); cut();
            writers = BIT(2); cut();
            publish_write(2)
        :: read_line == 0 && (write_line == 0 || writes_in(2)) -> remove_all(); cut()
        fi
    :: !writes_in(k) && reads_in(k) && readers != BIT(k) ->
        readers = readers & ~BIT(k); cut();
        timeout_of[k] = 0; cut()
    :: !writes_in(k) && readers == BIT(k) && write_line == 0 ->
        remove_all(); timeout_of[k] = 0; cut()
    :: !writes_in(k) && readers == BIT(k) && write_line != 0 ->
        write_line = 0; cut();
        timeout_of[k] = 0; cut();
        hand_over_end; cut();
        mode = WRITER; writers = writers | BIT(2); cut();
        readers = 0; cut();
        publish_write(2)
    :: else
    fi;
    say(DONE, 0)
}

#ifdef NO_THERE
#define is_dead(j) (reads_in(j))
#else
#define is_dead(j) (reads_in(j) && timeout_of[j] == 0)
#endif

#define max_of(a, b) (a > b -> a : b)

inline next()
{
    left = (left == ENDLESS -> LEASE : left);
    if
    :: mode == READERS ->
        readers = readers & ~((is_dead(0) -> 1 : 0) | (is_dead(1) -> 2 : 0));
        if
        :: readers == 0 && writers == 0 -> remove_all(); cut()
        :: else -> cut();
            x = max_of((reads_in(0) -> timeout_of[0] : 0), (reads_in(1) -> timeout_of[1] : 0));
            left = (left > x && x > 0 -> x : left); cut()
        fi
    :: mode != READERS && mode != NOBODY && writers == 0 -> remove_all(); cut()
    :: else
    fi;
    if
    :: mode == READERS && rising && readers == 1 ->
        rising = false; cut();
        hand_over_end; cut();
        mode = WRITER; writers = writers | 1; cut();
        readers = 0; cut();
        publish_upgrade(0)
    :: mode == NOBODY && write_line != 0 ->
        write_line = 0; cut();
        mode = WRITER; writers = BIT(2); left = ENDLESS; cut();
        left = LEASE; cut();
        publish_write(2)
    :: else
    fi
}

inline admit()
{
    if
    :: mode != WRITER && read_line != 0 ->
        came = read_line; read_line = 0; cut();
        timeout_of[0] = ((came & 1) != 0 -> LEASE : timeout_of[0]);
        timeout_of[1] = ((came & 2) != 0 -> LEASE : timeout_of[1]); cut();
        if
        :: mode == READERS -> longer(LEASE); cut(); readers = readers | came; cut()
        :: else -> mode = READERS; readers = readers | came; left = ENDLESS; cut();
            left = LEASE; cut()
        fi;
        publish_read(0); publish_read(1)
    :: else
    fi
}

#define may_read(k) (reads_in(k) && timeout_of[k] > 0 && mode == READERS)
#define may_write(k) \
    (mode == WRITER && writers == BIT(k) && (readers & ~BIT(k)) == 0)
#define earlier(k) (left < timeout_of[k] -> left : timeout_of[k])
#ifdef NO_OWN
#define touch_tells(k) left
#else
#define touch_tells(k) earlier(k)
#endif
#ifdef NO_LEAST
#define keep_tells(k) LONG
#else
#define keep_tells(k) earlier(k)
#endif

inline touch()
{
    left = (left == ENDLESS -> LEASE : left); cut();
    if
    :: (k == 2 && write_line != 0) || (k != 2 && (read_line & BIT(k)) != 0) ||
       (k == 0 && rising) -> say(WAITING, 0)
    :: else ->
        if
        :: may_write(k) -> me.writing = true; say(TAKEN, left)
        :: !may_write(k) && me.state != RISES && may_read(k) ->
            x = touch_tells(k);
            me.writing = false; say(TAKEN, x)
        :: else ->
            readers = (me.state == RISES -> readers : readers & ~BIT(k));
            writers = writers & ~BIT(k);
            mode = (readers == 0 && writers == 0 -> NOBODY : mode); tidy(); cut();
            say(GONE, 0)
        fi
    fi
}

inline keep()
{
    if
    :: may_write(k) -> longer(LONG); cut(); me.writing = true; say(TAKEN, LONG)
    :: !may_write(k) && may_read(k) ->
#ifdef NO_LEAST
        timeout_of[k] = LONG; cut();
#else
        longer(LONG); cut();
        timeout_of[k] = LONG; cut();
#endif
        x = keep_tells(k);
        me.writing = false; say(TAKEN, x)
    :: else -> say(GONE, 0)
    fi
}

inline upgrade()
{
    if
    :: may_read(k) && readers == BIT(k) && writers == 0 ->
        hand_over_end; cut();
        mode = WRITER; writers = writers | BIT(k); cut();
        readers = 0; cut();
        timeout_of[k] = 0; cut();
        me.writing = true; say(TAKEN, LEASE)
    :: may_read(k) && readers != BIT(k) ->
        rising = true; cut();
        x = me.told; say(WAITING, x)
    :: else -> say(GONE, 0)
    fi
}

inline downgrade()
{
    if
    :: writes_in(k) ->
        hand_over_end; cut();
        timeout_of[k] = LEASE; cut();
        mode = READERS; readers = readers | BIT(k); cut();
        writers = writers & ~BIT(k); cut();
        me.writing = false; say(TAKEN, LEASE)
    :: else -> say(GONE, 0)
    fi
}

inline drop()
{
    readers = readers & ~BIT(k); writers = writers & ~BIT(k);
    timeout_of[k] = 0;
    left = (left == ENDLESS -> LEASE : left);
    read_line = read_line & ~BIT(k);
    write_line = (k == 2 -> 0 : write_line); rising = (k == 0 -> false : rising);
    say(DONE, 0)
}

inline serve()
{
    if
    :: what == ACQUIRE -> acquire()
    :: what == TOUCH -> touch()
    :: what == CLOSE -> close()
    :: what == KEEP -> keep()
    :: what == UPGRADE -> upgrade()
    :: what == DOWNGRADE -> downgrade()
    :: what == DROP -> drop()
    fi
}

/* ---- the clients --------------------------------------------------------- */

#define idle (me.wire == 0)
#define believes_read(j)  (clients[j].reads > 0)
#define believes_write(j) (clients[j].writes > 0)
#define other_writes(k) \
    ((k != 0 && believes_write(0)) || (k != 1 && believes_write(1)) || \
     (k != 2 && believes_write(2)))
#define other_reads(k) \
    ((k != 0 && believes_read(0)) || (k != 1 && believes_read(1)) || \
     (k != 2 && believes_read(2)))

inline ask(request)
{
    me.wire = request; me.asked = request; me.sent = LEASE; me.told = 0
}

inline begin_to_read(n)
{
    me.reads = n; me.writes = 0; me.state = READS;
    assert(n == 0 || !other_writes(k))
}

inline begin_to_write(n)
{
    me.writes = n; me.reads = 0; me.state = WRITES;
    assert(n == 0 || (!other_writes(k) && !other_reads(k)))
}

#ifdef NO_SILENT
#define fall_silent() skip
#else
inline fall_silent() { me.reads = 0; me.writes = 0 }
#endif

inline give_up() { me.reads = 0; me.writes = 0; me.state = DROPS }

/* A reply; state ASKS: to an upgrade or a downgrade. */
inline hear()
{
    what = me.wire; me.wire = 0;
    if
    :: what == BROKEN && me.asked == ACQUIRE -> me.state = SEEKS
    :: what == BROKEN && (me.asked == TOUCH || me.asked == KEEP) -> skip
#ifdef NO_REST
    :: what == BROKEN && me.asked != DROP && me.state != DROPS ->
        if
        :: me.state == OVER -> skip
        :: else -> ask(me.asked)
        fi
#else
    :: what == BROKEN && (me.asked == CLOSE || me.asked == UPGRADE ||
                          me.asked == DOWNGRADE) -> give_up()
#endif
    :: what == BROKEN && me.asked == DROP -> skip
    :: what == TAKEN && (me.asked == ACQUIRE || me.asked == UPGRADE ||
                         me.asked == DOWNGRADE) ->
        if
        :: me.state == OVER || me.state == DROPS -> skip
        :: else ->
            if
            :: me.writing -> begin_to_write(me.sent)
            :: else -> begin_to_read(me.sent)
            fi
        fi
    :: what == TAKEN && (me.asked == TOUCH || me.asked == KEEP) ->
        if
        :: me.state == OVER || me.state == DROPS || me.state == ASKS -> skip
        :: else ->
            x = max_of(me.told, (me.writing -> me.writes : me.reads));
            if
            :: me.writing -> begin_to_write(x)
            :: !me.writing && me.state == RISES ->
                me.reads = x;
                assert(me.reads == 0 || !other_writes(k))
            :: else -> begin_to_read(x)
            fi
        fi
    :: what == WAITING && me.asked == UPGRADE ->
        me.state = RISES; me.bound = me.sent; me.reads = me.told; me.told = 0
    :: what == WAITING && me.asked != UPGRADE && (me.state == WAITS || me.state == SEEKS ||
                                                  me.state == IDLE || me.state == RISES) ->
        me.bound = me.sent; me.state = (me.state == RISES -> RISES : WAITS)
    :: what == GONE && me.asked == TOUCH && me.state == RISES -> me.state = READS
    :: what == GONE && !(me.asked == TOUCH && me.state == RISES) -> give_up()
    :: what == DONE && (me.asked == CLOSE || me.asked == DROP) ->
        me.state = OVER; me.reads = 0; me.writes = 0
    :: else
    fi;
    me.told = 0; me.sent = 0; me.asked = 0; me.writing = false; what = 0; x = 0;
    me.bound = (me.state == WAITS || me.state == RISES || me.state == SEEKS -> me.bound : 0)
}

#define may_hear_grant (me.asked != TOUCH || idle)
#ifdef NO_BOUND
#define grant_counts LEASE
#else
#define grant_counts me.bound
#endif

inline hear_grant()
{
    if
    :: me.state == WAITS && me.read_grant -> begin_to_read(grant_counts)
    :: (me.state == WAITS || me.state == RISES) && me.write_grant ->
        begin_to_write(grant_counts)
    :: else
    fi;
    me.read_grant = false; me.write_grant = false
}

/* What is asked is lost, runs later, or has run and its reply is lost. */
inline break_off()
{
    breaks++;
    if
    :: is_request(me.wire) && me.late == 0 -> me.late = me.wire
    :: true
    fi;
    me.wire = BROKEN
}

proctype actor(byte k)
{
    mtype what;
    byte x, came;
    bool heard;

end:
    do
    :: atomic { idle && me.state == IDLE -> ask(ACQUIRE) }
    :: atomic { idle && (me.state == SEEKS || me.state == WAITS || me.state == RISES) ->
                ask(TOUCH) }
    :: atomic { idle && (me.reads > 0 || me.writes > 0) && me.state != ASKS &&
                keeps < KEEPS -> keeps++; ask(KEEP) }
    :: atomic { idle && k == 0 && me.state == READS && me.reads > 0 ->
                ask(UPGRADE); me.told = me.reads; me.state = ASKS; fall_silent() }
    :: atomic { idle && k == 0 && me.state == WRITES && me.writes > 0 ->
                ask(DOWNGRADE); me.state = ASKS; fall_silent() }
    :: atomic { idle && (me.state == READS || me.state == WRITES) ->
                ask(CLOSE); me.state = ASKS; fall_silent() }
    :: atomic { idle && me.state == WAITS -> give_up() }
    :: atomic { idle && me.state == DROPS -> ask(DROP) }
    :: atomic {
        if
        :: is_request(me.wire) -> what = me.wire; heard = true
        :: me.late != 0 -> what = me.late; me.late = 0
        fi;
        serve();
        goto served;
broken:
        if
        :: heard -> me.wire = BROKEN
        :: else
        fi;
served:
        what = 0; x = 0; came = 0; heard = false
       }
    :: atomic { !idle && !is_request(me.wire) -> hear() }
    :: atomic { (me.read_grant || me.write_grant) && may_hear_grant -> hear_grant() }
    :: atomic { !idle && me.wire != BROKEN && breaks < BREAKS -> break_off() }
    od
}

/* Next and admit are sent by anybody, at any time. */
active proctype anybody()
{
    byte x, came;

end:
    do
    :: atomic {
        if
        :: next()
        :: admit()
        fi;
broken:
        x = 0; came = 0
       }
    od
}

/* ---- time ---------------------------------------------------------------- */

#define shrink(n) n = (n > 0 -> n - 1 : 0)

inline pass(j)
{
    shrink(clients[j].sent); shrink(clients[j].told); shrink(clients[j].bound);
    shrink(clients[j].reads); shrink(clients[j].writes);
    shrink(timeout_of[j])
}

active proctype clock()
{
end:
    do
    :: d_step {
        true ->
        pass(0); pass(1); pass(2);
        left = (left == ENDLESS || left == 0 -> left : left - 1);
        if
        :: left == 0 -> remove_all()
        :: else
        fi }
    od
}

init
{
    atomic { run actor(0); run actor(1); run actor(2) }
}
