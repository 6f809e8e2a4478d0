/* ring.pml - the two wake-up protocols of the ring, without any timeout.
 *
 *   data side : sleeping-bit word, one `data` semaphore per reader
 *   space side: the producer's wish {position, slowest reader}, one `space`
 *               semaphore; a watcher thread of the producer frees and evicts
 *
 * Every shared access is one step; interleavings are sequentially consistent.
 * The environment stops (SIGSTOP for ever) or kills (SIGKILL, drops the lock)
 * up to BUDGET processes between any two steps. The 100 ms timeout does not
 * exist here: what sleeps, sleeps until posted. Monitor runs when nothing else
 * can move, and asserts that nobody sleeps although his condition holds.
 *
 * Switches that put back the weaker reading of the text (each must fail;
 * NO_PUBLISH needs U=2, NODRAIN SLOTS=4, NO_WATCH_POST BUDGET or EVICTIONS):
 *   NODRAIN       tokens of an abandoned sleep are not drained before the next
 *   NAIVE_WISH    the second look is "may I enter?", not "is the reader that I
 *                 named still behind the position that I named?"
 *   WIDE_WISH     a wish may name a position past head
 *   NO_WATCH_POST the watcher frees/evicts a reader but does not post `space`
 *   END_SILENT    storing `end` does not wake sleepers
 *   NO_PUBLISH    the producer sleeps for space with committed bytes unpublished
 *   OWED_SLEEP    the producer sleeps for space with a wake owed for a slot it left
 *   RECHECK_FIRST the reader looks again before it sets its bit, not after
 */
#ifndef N
#define N 2                     /* slots in the ring */
#endif
#ifndef SLOTS
#define SLOTS 3                 /* slots in the stream */
#endif
#ifndef U
#define U 1                     /* units in a slot */
#endif
#define LAST (SLOTS * U)
#define R 2                     /* readers */
#define PROD 2                  /* the producer's index in up[], alive[] */
#ifndef BUDGET
#define BUDGET 1                /* kills and stops, together */
#endif
#ifndef EVICTIONS
#define EVICTIONS 0
#endif
#ifndef DATAMAX
#define DATAMAX 2
#endif
#ifndef SPACEMAX
#define SPACEMAX 4
#endif

#define FREED 0
#define ACTIVE 1
#define EVICTED 2

/* shared memory */
byte head; bit end_; byte bits; byte wishR, wishP;   /* wishR: entry + 1, 0 none */
byte tail[R]; byte state[R]; byte data[R]; byte space;
/* the world */
bool up[3]; bool alive[3];
/* ghosts: seen by assertions only */
bool asleep[R]; bool releasing[R]; bool done[R]; bool pasleep; byte gneed;
byte posted[R];                 /* posts to a reader stopped before the exchange */
byte hurt;

inline wake_readers()           /* after a store to head or end, and a fence */
{
    owed = 0;
    if
    :: bits != 0 ->             /* the load; then the exchange, then the posts */
       d_step { w = bits; bits = 0; late0 = !up[0]; late1 = !up[1]; }
       if :: (w & 1) -> d_step { data[0]++; posted[0] = posted[0] + late0; late0 = 0; w = w & 2;
                                 assert(data[0] <= DATAMAX); assert(posted[0] <= 1) }
          :: else fi;
       if :: (w & 2) -> d_step { data[1]++; posted[1] = posted[1] + late1; late1 = 0; w = 0;
                                 assert(data[1] <= DATAMAX); assert(posted[1] <= 1) }
          :: else fi;
       d_step { w = 0; late0 = 0; late1 = 0; }
    :: else
    fi
}

inline scan_one(i)              /* two loads: state, tail */
{
    if
    :: state[i] == ACTIVE ->
       d_step { if :: tail[i] < m -> m = tail[i]; slow = i + 1 :: else fi }
    :: else
    fi
}

inline scan()                   /* smallest of head and the active tails */
{
    d_step { m = head; slow = 0; }
    scan_one(0);
    scan_one(1)
}

proctype Producer() provided (up[PROD])
{
    byte p, m, slow, w, want; bit late0, late1, owed;
    do
    :: p < LAST ->
       if
       :: p % U == 0 && p / U >= N ->               /* enter slot p / U */
          gneed = (p / U - N + 1) * U;
again:    if :: m >= gneed -> goto enter :: else fi; /* cached minimum */
          scan();
          if
          :: m >= gneed -> slow = 0; goto enter
#ifndef NO_PUBLISH
          :: m < gneed && head < p -> slow = 0; head = p; wake_readers(); goto again
#ifndef OWED_SLEEP
          :: m < gneed && head == p && owed -> slow = 0; wake_readers(); goto again
          :: m < gneed && head == p && !owed && slow == 0 -> goto again
          :: m < gneed && head == p && !owed && slow != 0
#else
          :: m < gneed && head == p && slow == 0 -> goto again
          :: m < gneed && head == p && slow != 0
#endif
#else
          :: m < gneed && slow == 0 -> goto again
          :: m < gneed && slow != 0
#endif
          fi;
#ifndef NODRAIN
          space = 0;                                /* sem_trywait until EAGAIN */
#endif
          atomic {
          if :: want = gneed
#ifdef WIDE_WISH
             :: want = gneed + N * U
#else
             :: gneed + U <= (head / U) * U -> want = gneed + U
#endif
          fi;
          wishR = slow; wishP = want; want = 0; }   /* one 64-bit store, seq_cst */
#ifdef NAIVE_WISH
          scan();
          if :: m >= gneed -> goto unwish :: else fi;
#else
          if :: state[slow-1] != ACTIVE -> goto unwish :: else fi;
          if :: tail[slow-1] >= gneed -> goto unwish :: else fi;
#endif
          pasleep = true;
          atomic { space > 0 -> space--; pasleep = false; }
unwish:   atomic { wishR = 0; wishP = 0; slow = 0; }
          goto again;
enter:    gneed = 0
       :: else
       fi;
       atomic {
       p++;                                         /* write a unit, commit */
       if :: p % U != 0 -> p = p + 1 :: skip fi;    /* may leave the slot early */
       if :: skip :: goto batched :: goto left fi } /* may publish, may batch, may leave */
       head = p; wake_readers();
       goto batched;
left:  atomic { head = p; owed = 1; }               /* a left slot: the wake is owed */
batched: skip
    :: else -> break
    od;
    if :: head < p -> head = p; wake_readers() :: else fi;   /* an owed one comes with end */
    end_ = 1;
#ifndef END_SILENT
    wake_readers()
#endif
}

proctype Watcher() provided (up[PROD])  /* thread of the producer's process */
{
    byte ev = EVICTIONS;
endw: do
    :: !alive[0] && state[0] == ACTIVE -> state[0] = FREED;
#ifndef NO_WATCH_POST
       d_step { space++; assert(space <= SPACEMAX) }
#endif
    :: !alive[1] && state[1] == ACTIVE -> state[1] = FREED;
#ifndef NO_WATCH_POST
       d_step { space++; assert(space <= SPACEMAX) }
#endif
    :: ev > 0 && state[0] == ACTIVE -> d_step { state[0] = EVICTED; ev--; }
#ifndef NO_WATCH_POST
       d_step { space++; assert(space <= SPACEMAX) }
#endif
    od
}

proctype Reader(byte i) provided (up[i])
{
    byte t, h, wp; bit e;
loop:
    e = end_;
    atomic {
        h = head;
        if
        :: h > t -> if :: t = h :: t / U < h / U -> t = (t / U + 1) * U fi;  /* all, or a slot */
                    h = 0; e = 0; goto use
        :: h <= t && e -> goto gone
        :: h <= t && !e -> h = 0
        fi
    }
#ifndef NODRAIN
    data[i] = 0;                                    /* sem_trywait until EAGAIN */
#endif
#ifndef RECHECK_FIRST
    bits = bits | (1 << i);                         /* fetch_or, seq_cst */
#endif
    e = end_;
    atomic { h = head; if :: h > t || e -> h = 0; e = 0; goto awake :: else -> h = 0 fi }
#ifdef RECHECK_FIRST
    bits = bits | (1 << i);
#endif
    atomic { if :: state[i] != ACTIVE -> goto awake :: else -> asleep[i] = true fi }
    atomic { data[i] > 0 -> data[i]--; asleep[i] = false; goto loop }
awake:
    bits = bits & (3 - (1 << i));                   /* fetch_and */
    goto loop;
use:
    if :: state[i] != ACTIVE -> goto gone :: else fi;
    d_step { tail[i] = t; releasing[i] = true; }    /* seq_cst */
    atomic { if :: wishR == i + 1 && t >= wishP -> wp = wishP
                :: else -> releasing[i] = false; goto loop fi }
    atomic { if :: wishR == i + 1 && wishP == wp -> wishR = 0; wishP = 0; wp = 0  /* CAS */
                :: else -> wp = 0; releasing[i] = false; goto loop fi }
    d_step { space++; assert(space <= SPACEMAX); releasing[i] = false; }
    goto loop;
gone:
    atomic { done[i] = true; h = 0; e = 0; t = 0; }
}

#ifndef VICTIM                  /* 0: reader 0 only (the readers are alike); 2: producer only; 9: all */
#define VICTIM 9
#endif
proctype Env()
{
    byte b = BUDGET;
    do
    :: b > 0 && up[0] && VICTIM != PROD -> d_step { up[0] = false; b--; hurt++; }       /* stop */
    :: b > 0 && up[0] && VICTIM != PROD -> d_step { up[0] = false; alive[0] = false; b--; hurt++; } /* kill */
    :: b > 0 && up[1] && VICTIM == 9 -> d_step { up[1] = false; b--; hurt++; }
    :: b > 0 && up[1] && VICTIM == 9 -> d_step { up[1] = false; alive[1] = false; b--; hurt++; }
    :: b > 0 && up[PROD] && VICTIM != 0 -> d_step { up[PROD] = false; b--; hurt++; }
    :: break
    od
}

#define BEHIND(i) (state[i] == ACTIVE && tail[i] < gneed)
#define CAN_ENTER (!BEHIND(0) && !BEHIND(1) && head >= gneed)
/* a reader stopped between its tail and its post, or stopped short of a wide
   wish, is what the 100 ms timeout is for */
#define EXCUSED (wishR > 0 && !up[wishR-1] && alive[wishR-1]) || \
                (!up[0] && alive[0] && releasing[0]) || (!up[1] && alive[1] && releasing[1])
#define OVERSLEPT(i) (up[i] && asleep[i] && state[i] == ACTIVE && (head > tail[i] || end_))

proctype Monitor()
{
    timeout;
    d_step {
        assert(!(up[PROD] && pasleep && CAN_ENTER && !(EXCUSED)));
        assert(!(up[PROD] && OVERSLEPT(0)));
        assert(!(up[PROD] && OVERSLEPT(1)));
        assert(hurt > 0 || end_ == 1);
        assert(hurt > 0 || (done[0] || state[0] != ACTIVE));
        assert(hurt > 0 || done[1]);
    }
}

init { d_step {
    up[0] = true; up[1] = true; up[2] = true;
    alive[0] = true; alive[1] = true; alive[2] = true;
    state[0] = ACTIVE; state[1] = ACTIVE;
    } atomic { run Producer(); run Watcher(); run Reader(0); run Reader(1); run Env(); run Monitor() } }
