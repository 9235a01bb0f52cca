/* The slot protocol (docs/design/0004-slot-protocol.md) for Spin: ranks that make call after call, of whatever plans, over words and slots that
   they share. What this file stands for, what it leaves out and how many states it has is docs/design/0014-models.md; check_model.py runs it.

   A step here is what nobody else can look into. Waiting for what stays true once it is true (a progress word, a flag, `done`) is one step with
   what the rank does next; a slot is written or read in two, with all that others do in between: what is being written has no right content,
   and who reads checks it when he begins and when he ends.

   Call numbers go round (SPAN); a check at each call's begin holds that ranks are never further apart than that allows. So a run without CALLS
   covers any number of calls. With CALLS they are absolute. Each MUTANT breaks one rule, and must be found. */

#include "words.pml"
#include "moves.pml"

active [RANKS] proctype rank() {
  byte me = _pid, what, piece, got, heard, cleared, suspect, i, past;
  byte halves;  /* Context::bases_: in which half of each rank's staging this call is */
#if DISAGREE
  bit alone;  /* in this very call the rank strays */
#endif
  atomic {
    if
    :: plan[1] == 0 -> plan[1] = STAY
    :: else
    fi
  }

entering:
  do
  :: atomic { READY && OF_ALL(IS_READY) ->
       suspect = 0;
       enter();
       if
       :: what == TINY || (what == TINY_ROOT && me == 0) ->
          BEGIN_WRITE(line[LINE(me)]);
#if MUTANT == FLAG_FIRST
          flag[LINE(me)] = OWN_FLAG;
#endif
          goto publishing
       :: what == TINY_ROOT && me != 0 -> goto gathering
       :: what == PUT && me != 0 -> BEGIN_WRITE(SLOT(0, me - 1)); goto putting
       :: what == PUT && me == 0 -> goto gathering
       :: what == ALL || ((what == LONG || what == SHORT || what == SEND) && me == ROOT) ->
          BEGIN_WRITE(SLOT(me, 0));
#if MUTANT == SIGNAL_FIRST
          SIGNAL(0, 1);
#endif
          goto writing
       :: (what == LONG || what == SHORT) && me != ROOT -> goto reading
       :: what == SEND && me == 0 -> goto reading
       :: what == SEND && me > 1 -> finish()
       :: what == RING -> goto exchanging
       fi }
#if MUTANT == NO_LOOK_ENTERING
  OR_DIE
#else
  MEANWHILE
#endif
  od;

/* One-shot, and whoever sends: a slot is written, then signalled. */
writing:
  do
  OR_DIE
  :: atomic {
       END_WRITE(SLOT(me, piece), piece);
       SIGNAL(0, piece + 1);
       piece++;
       if
       :: what == ALL && piece < 2 && piece < PIECES(what) -> BEGIN_WRITE(SLOT(me, piece)); goto writing
       :: what == ALL && (piece >= 2 || piece == PIECES(what)) -> goto summing
       :: what != ALL && piece == PIECES(what) -> finish()
       :: what != ALL && piece < PIECES(what) -> goto crediting
       fi }
  od;

/* A slot is written again once its piece of `DEPTH` pieces ago was read: the credit waits of plans. */
crediting:
  do
  :: atomic { READY && OF_ALL(HAS_CREDIT) ->
       suspect = 0;
       BEGIN_WRITE(SLOT(me, piece));
#if MUTANT == SIGNAL_FIRST
       SIGNAL(0, piece + 1);
#endif
       goto writing }
  MEANWHILE
  od;

/* The other half of a one-shot all-reduce, a piece behind the first (its skew): everybody's slots are read. */
summing:
  do
  :: atomic { READY && OF_ALL(HAS_SENT) ->
       suspect = 0;
       if
       :: !OF_ALL(AGREES) -> FAIL(MISMATCH)
       :: else
       fi;
       SEE_ALL(SEE_SLOT);
#if MUTANT == DONE_EARLY
       done[me] = (got + 1 == PIECES(what) -> NOW : done[me]);
#endif
       goto summed }
  MEANWHILE
  od;

summed:
  do
  OR_DIE
  :: atomic {
       SEE_ALL(SEE_SLOT);
       got++;
       if
       :: got == PIECES(what) -> finish()
       :: got < PIECES(what) && piece < PIECES(what) -> BEGIN_WRITE(SLOT(me, piece)); goto writing
       :: got < PIECES(what) && piece == PIECES(what) -> goto summing
       fi }
  od;

/* Whoever receives: a slot is read, then signalled, which is its writer's credit. */
reading:
  do
  :: atomic { READY && HAS_SENT(ROOT) ->
       suspect = 0;
       if
       :: !AGREES(ROOT) -> FAIL(MISMATCH)
       :: else
       fi;
       SEE_SLOT(ROOT);
#if MUTANT == DONE_EARLY
       done[me] = (got + 1 == PIECES(what) -> NOW : done[me]);
#endif
       goto read }
  MEANWHILE
  od;

read:
  do
  OR_DIE
  :: atomic {
       SEE_SLOT(ROOT);
       got++;
       SIGNAL(0, got);
       if
       :: got == PIECES(what) -> finish()
       :: else -> goto reading
       fi }
  od;

/* Run::advance_lanes: one thread, which goes on with either lane. What is sent is in lane 0, what is received in lane 1. */
exchanging:
  do
  :: atomic { READY && piece < RING_PIECES && HAS_CREDIT_OF(NEXT(me), 1) -> suspect = 0; BEGIN_WRITE(SLOT(me, piece)); goto sending }
  :: atomic { READY && got < RING_PIECES && HAS_SENT(BEFORE(me)) ->
       suspect = 0;
       if
       :: !AGREES(BEFORE(me)) -> FAIL(MISMATCH)
       :: else
       fi;
       SEE_SLOT(BEFORE(me));
#if MUTANT == DONE_EARLY
       done[me] = (got + 1 == RING_PIECES && piece == RING_PIECES -> NOW : done[me]);
#endif
       goto receiving }
  MEANWHILE
  od;

sending:
  do
  OR_DIE
  :: atomic {
       END_WRITE(SLOT(me, piece), piece);
       SIGNAL(0, piece + 1);
       piece++;
       if
       :: piece == RING_PIECES && got == RING_PIECES -> finish()
       :: else -> goto exchanging
       fi }
  od;

receiving:
  do
  OR_DIE
  :: atomic {
       SEE_SLOT(BEFORE(me));
       got++;
       SIGNAL(1, got);
       if
       :: piece == RING_PIECES && got == RING_PIECES -> finish()
       :: else -> goto exchanging
       fi }
  od;

/* fill_line: the payload, then its flag. */
publishing:
  do
  OR_DIE
  :: atomic {
       END_WRITE(line[LINE(me)], 0);
       flag[LINE(me)] = OWN_FLAG;
       if
       :: what == TINY -> goto gathering
       :: else -> finish()
       fi }
  od;

putting:
  do
  OR_DIE
  :: atomic { END_WRITE(SLOT(0, me - 1), me - 1); SIGNAL(0, 1); finish() }
  od;

/* Run::inline_gather; and rank 0 of a put. */
gathering:
  do
  :: atomic { READY && HAS_ARRIVED ->
       suspect = 0;
       if
       :: what == PUT && !OF_ALL(AGREES) -> FAIL(MISMATCH)
       :: else
       fi;
       SEE_ARRIVED;
#if MUTANT == DONE_EARLY
       done[me] = NOW;
#endif
       goto gathered }
#if DISAGREE && MUTANT != NO_HISTORY
  :: atomic { READY && ((what == TINY && !(OF_ALL(FLAGS_NO_OTHER))) || (what == TINY_ROOT && !FLAGS_NO_OTHER(0))) -> FAIL(MISMATCH) }
#endif
  MEANWHILE
  od;

gathered:
  do
  OR_DIE
  :: atomic { SEE_ARRIVED; finish() }
  od;

/* ~Impl waits for nobody. */
leaving:
  do
  OR_DIE
  :: atomic { state[me] = LEFT; goto ended }
  od;

ended:
  atomic { what = 0; piece = 0; got = 0; heard = 0; cleared = 0; suspect = 0; past = 0; halves = 0 }
}
