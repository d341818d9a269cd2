/* SPDX-License-Identifier: MIT
 *
 * What line.pml and line_health.pml are about: a server's keys for one name, and claims
 * as their clients know them. How the scripts change them is in line_scripts.pml.
 */

/* Requests. */
mtype = { ACQUIRE, TRY, PUSH, TOUCH, NEXT, CLOSE, LEAVE, KEEP, DROP };
/* Replies: UNOWNED is "waits" or "refused", while nobody holds. */
mtype = { TAKEN, WAITING, UNOWNED, GONE, DONE, BROKEN };
/* What a claim is to its client; DROPS: nothing but its field's removal is sent. */
mtype = { IDLE, SEEKS, WAITS, TRIES, HOLDS, CLOSES, LEAVES, DROPS, OVER };

/* ---- the server ---------------------------------------------------------- */

byte held;   /* the hash: a bit for each field */
byte left;   /* until it ends */
int line;    /* three bits a member, the first one lowest: claim + 1 */
byte parked; /* a bit for each */
byte cuts;

#define NONE     CLAIMS
#define MARKER   6 /* the outsiders' place; as a member of the line 7 */
#define ENDLESS  15
#define BIT(k)   (1 << (k))
#define OUTSIDER BIT(7)

#define has(k)       ((held & BIT(k)) != 0)
#define alone(k)     (held == BIT(k))
#define is_parked(k) ((parked & BIT(k)) != 0)
#define at(p)        ((line >> (3 * (p))) & 7)
#define place(k) \
    (at(0) == k + 1 -> 0 : (at(1) == k + 1 -> 1 : (at(2) == k + 1 -> 2 : \
    (at(3) == k + 1 -> 3 : (at(4) == k + 1 -> 4 : 5)))))
#define stands(k) (place(k) < 5)
#define length \
    (line == 0 -> 0 : (line < 8 -> 1 : (line < 64 -> 2 : (line < 512 -> 3 : \
    (line < 4096 -> 4 : 5)))))
#define up_to(p)      (line & ((1 << (3 * (p))) - 1))
#define push_back(k)  line = line | ((k + 1) << (3 * length))
#define push_front(k) line = (line << 3) | (k + 1)
#define take_out(k) \
    line = up_to(place(k)) | ((line >> (3 * place(k) + 3)) << (3 * place(k)))

typedef client {
    mtype state = IDLE;
    mtype wire;   /* a request or a reply under way */
    mtype asked;  /* the request to which that belongs */
    byte sent;    /* how long ago it was sent */
    byte remains; /* of the lease, in a reply */
    mtype late;   /* a request of a connection that was given up */
    bool due;     /* `next` is to be sent */
    byte age;     /* of the request that was last replied to by "waits" */
    byte until;   /* the end of belief */
    bool proof;   /* a grant lies in the inbox */
    bool hint;    /* one that proves nothing */
    bool given;   /* the claim was granted, and that could be known */
    EXTRA
};
client clients[CLAIMS];
byte breaks;

#define me clients[k]
#define believes(j) (clients[j].state == HOLDS && clients[j].until > 0)
#define is_request(w) \
    (w == ACQUIRE || w == TRY || w == PUSH || w == TOUCH || w == NEXT || \
     w == CLOSE || w == LEAVE || w == KEEP || w == DROP)
