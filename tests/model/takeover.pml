/* takeover.pml - a dead writer's byte, its ring's name, and who wants them.
 *
 * Ring 1 has the name and a writer.  That writer may die, or destroy its ring.
 * H heirs want its byte (ring_takeover), D readers leave it (removal), C creators
 * want its name for ring 2, R readers wait for an heir (at most 2, 2, 1, 1).
 * Anyone but a reader may be killed between any two steps, which drops its locks,
 * or be delayed for ever (a stop).
 * That the time to be replaced is over is an event, and so is that a waiting
 * reader's own time is over; an heir's sign of life starts both anew.
 *
 * Each look at a lock, a name or the time, each (un)locking, linking and
 * unlinking is one step.
 *
 * Asserted:
 *   - no two believe to be the writer of one ring;
 *   - a name is removed only by its ring's own writer, or when that ring has no
 *     writer and its time is over: so a ring with a writer keeps its name until
 *     its writer removes it, and an heir's ring has it;
 *   - a reader that says "died" has waited for all its time, and no heir came in
 *     it, but one that died before it showed a sign of life;
 *   - when nothing moves any more, everyone who lives has come to an end.
 *
 * Switches that weaken the order (each must fail):
 *   REMOVER_FREE    who removes a name does not hold the remover's byte
 *   HEIR_FREE       who takes the writer's byte does not hold the remover's
 *   LOOK_FIRST      the remover looks at the writer's byte and the time before
 *                   it takes its byte, and not again
 *   NAME_UNSEEN     an heir does not look whether the name still leads there
 *   NAME_FIRST      it looks at the name, then whether the byte is free
 *   BYTE_UNTAKEN    an heir sees the writer's byte free, and does not take it
 *   TIME_LAST       a reader looks at the lock, then at the time
 *   SIGN_UNSEEN     (with KILLS=2) a reader does not see that an heir came and
 *                   died between two looks
 */
#ifndef KILLS
#define KILLS 1
#endif
#ifndef H
#define H 2
#endif
#ifndef D
#define D 1
#endif
#ifndef C
#define C 1
#endif
#ifndef R
#define R 1
#endif

#define WRITER 0                /* numbers of processes; 0 is also the first writer's */
#define HEIR 1
#define LEAVER 3
#define CREATOR 5
#define READER 6
#define PROCESSES 7
#define NOBODY 99

/* kernel */
byte writer_byte[3] = NOBODY, remover_byte[3] = NOBODY;     /* of ring 1, 2 */
byte name;                      /* the ring that it leads to; 0 none */
bool up[PROCESSES], out[PROCESSES];
/* ring 1 */
bool over;                      /* its last sign of life is too old */
byte sign;                      /* alive_ns: another with each heir */
bool ended;
/* the reader's own: its time since it missed the writer */
bool missing, patience_over;
/* ghosts */
byte believers[3];
bool took_in_time, came_in_time;   /* an heir took the byte, and showed a sign of life,
                                   since the writer was missed and in time */

inline lock(b, got)
{
    atomic { if :: b == NOBODY -> b = me; got = true :: else -> got = false fi }
}

inline unlock(b)
{
    atomic { if :: b == me -> b = NOBODY :: else fi }
}

inline believe(ring)
{
    believers[ring]++; assert(believers[ring] == 1)
}

/* What is true of each name that somebody else than its ring's writer removes. */
inline remove_name()
{
    atomic {
        assert(name == 0 || believers[name] == 0);
        assert(name != 1 || over);
        name = 0; }
}

/* Whoever holds the byte of `ring` leaves it for good: ring_destroy. */
inline destroy(ring)
{
    if
    :: atomic { name == ring -> skip }; atomic { assert(name == ring); name = 0; }
    :: atomic { name != ring -> skip }
    fi;
    atomic { if :: writer_byte[ring] == me -> writer_byte[ring] = NOBODY :: else fi;
             believers[ring]--; out[me] = true; }
}

/* remove_stale: stale is set if the name is not the ring's any more. */
inline remove_stale(ring)
{
    stale = false; again = false;
#ifdef LOOK_FIRST
    if :: atomic { writer_byte[ring] != NOBODY -> goto kept } :: else fi;
    if :: atomic { ring == 1 && !over -> goto kept } :: else fi;
#endif
#ifndef REMOVER_FREE
    lock(remover_byte[ring], again);
    if :: !again -> again = true; goto kept :: else -> again = false fi;
#endif
#ifndef LOOK_FIRST
    if :: atomic { writer_byte[ring] != NOBODY -> goto unlocked } :: else fi;
    if :: atomic { ring == 1 && !over -> goto unlocked } :: else fi;
#endif
    if
    :: atomic { name == ring -> skip }; remove_name()
    :: atomic { name != ring -> skip }
    fi;
    stale = true;
unlocked:
    unlock(remover_byte[ring]);
kept: skip
}

/* What a writer does with its ring: it goes on for a while, ends, leaves. */
proctype Writer() provided (up[WRITER])
{
    byte me = WRITER;
    if
    :: ended = true
    :: skip                                     /* destroyed without an end */
    fi;
    destroy(1)
}

proctype Heir(byte me) provided (up[me])
{
    bool got;
    atomic { if :: name == 1 :: else -> goto done fi }      /* open */
#ifndef HEIR_FREE
    do
    :: lock(remover_byte[1], got);
       if :: got -> break :: !got -> skip :: !got -> goto done fi       /* -EBUSY */
    od;
#endif
#ifdef NAME_FIRST
    if :: atomic { name != 1 -> goto give } :: else fi;
#endif
    if :: atomic { writer_byte[1] != NOBODY -> goto give } :: else fi;  /* -EEXIST */
    if :: atomic { over -> goto give } :: else fi;                      /* -ENOENT */
#if !defined NAME_UNSEEN && !defined NAME_FIRST
    if :: atomic { name != 1 -> goto give } :: else fi;                 /* -ENOENT */
#endif
#ifdef BYTE_UNTAKEN
    atomic { believe(1); assert(name == 1); }
#else
    atomic { if :: writer_byte[1] == NOBODY -> writer_byte[1] = me; got = true;
                   believe(1); assert(name == 1);
                   took_in_time = (missing && !patience_over)
                :: else -> got = false fi }
    if :: !got -> goto give :: else fi;
#endif
    unlock(remover_byte[1]);
    atomic { over = false; sign++;                          /* writer_inherit: alive_ns */
             got = false;
             if :: missing && !patience_over -> came_in_time = true :: else fi;
             if :: ended = true :: skip fi }
    destroy(1);
    goto left;
give:
    unlock(remover_byte[1]);
done:
    out[me] = true;
left: skip
}

proctype Leaver(byte me) provided (up[me])                  /* ring_detach */
{
    bool stale, again;
    remove_stale(1);
    out[me] = true
}

proctype Creator() provided (up[CREATOR])
{
    byte me = CREATOR; bool stale, again;
    atomic { writer_byte[2] = me; believe(2); }
    do
    :: atomic { name == 0 -> name = 2; break }              /* linkat */
    :: atomic { name == 1 -> skip };                        /* EEXIST: open what has it */
       remove_stale(1);
       if
       :: stale || again
       :: !stale -> goto fail                               /* -EEXIST, -EBUSY */
       fi
    od;
    destroy(2);
    goto left;
fail:
    atomic { writer_byte[2] = NOBODY; believers[2]--; out[me] = true; }
left: skip
}

proctype Reader() provided (up[READER])                     /* its watcher */
{
    bool late, free; byte missed;
    do
    ::
#ifndef TIME_LAST
       atomic { late = patience_over; }
#endif
       atomic { free = (writer_byte[1] == NOBODY); }
       if :: atomic { ended -> break } :: else fi;
#ifdef TIME_LAST
       atomic { late = patience_over; }
#endif
       if
       :: !free -> atomic { missing = false; missed = 0; patience_over = false;
                         took_in_time = false; came_in_time = false; }
       :: free && !missing ->
          atomic { missed = sign; missing = true; patience_over = false;
                   took_in_time = false; came_in_time = false; }
#ifndef SIGN_UNSEEN
       :: free && missing && missed != sign ->
          atomic { missed = sign; patience_over = false;
                   took_in_time = false; came_in_time = false; }
       :: free && missing && missed == sign && late ->
#else
       :: free && missing && late ->
#endif
          assert(!took_in_time && !came_in_time); break                      /* "died" */
       :: else
       fi;
       atomic { late = false; free = false; }
       /* The next look, when it can see another thing. */
       if
       :: missing && (writer_byte[1] != NOBODY || missed != sign || over || ended)
       :: !missing && (writer_byte[1] == NOBODY || ended)
       fi
    od;
    out[READER] = true
}

proctype Time()
{
endt: do
    :: atomic { !over -> over = true }          /* of a living one, too: it was stopped */
    :: atomic { over && missing && !patience_over -> patience_over = true }
    od
}

proctype Env()
{
    byte b = KILLS, v;
endv: do
    :: b > 0 -> atomic { b--;
       if :: up[0] && !out[0] -> v = 0 :: up[1] && !out[1] -> v = 1
          :: up[2] && !out[2] -> v = 2 :: up[3] && !out[3] -> v = 3
          :: up[4] && !out[4] -> v = 4 :: up[5] && !out[5] -> v = 5 :: else fi;
       up[v] = false;
       if :: writer_byte[1] == v -> writer_byte[1] = NOBODY; believers[1]--; took_in_time = false
          :: else fi;
       if :: writer_byte[2] == v -> writer_byte[2] = NOBODY; believers[2]-- :: else fi;
       if :: remover_byte[1] == v -> remover_byte[1] = NOBODY :: else fi;
       v = 0; }
    od
}

proctype Monitor()
{
    byte i;
    timeout;
    d_step {
        i = 0;
        do :: i < PROCESSES -> assert(!up[i] || out[i]); i++ :: else -> break od;
        i = 0;
    }
}

init { atomic {
    writer_byte[1] = WRITER; believers[1] = 1; name = 1;
    up[WRITER] = true; run Writer();
#if H > 0
    up[HEIR] = true; run Heir(HEIR);
#endif
#if H > 1
    up[HEIR + 1] = true; run Heir(HEIR + 1);
#endif
#if D > 0
    up[LEAVER] = true; run Leaver(LEAVER);
#endif
#if D > 1
    up[LEAVER + 1] = true; run Leaver(LEAVER + 1);
#endif
#if C > 0
    up[CREATOR] = true; run Creator();
#endif
#if R > 0
    up[READER] = true; run Reader();
#endif
    run Time(); run Env(); run Monitor() } }
