/* What ranks do in their steps: look around, write, read, signal, enter and finish. */

/* Communicator::Impl::find_lost_peer and find_mismatch, at any wait: first whether a peer is lost, then, a step later, whether it has finished
   this call. Who has isn't looked at again in this call (`cleared`), so that a rank which waits for ever stands still, and Spin sees it. */
#define LOST(peer) (gone[peer] || state[peer] != RUNNING)
#if MUTANT == NO_LOOK
#define LOOK_AT(peer)
#elif MUTANT == DONE_FIRST
#define LOOK_AT(peer) \
  :: atomic { suspect == 0 && !HAS_FINISHED_THIS(peer) -> suspect = 1 + (peer) } \
  :: atomic { suspect == 1 + (peer) && LOST(peer) -> BLAME(peer) }
#else
#define LOOK_AT(peer) \
  :: atomic { suspect == 0 && LOST(peer) && !(cleared & BIT(peer)) -> suspect = 1 + (peer) } \
  :: atomic { suspect == 1 + (peer) -> \
       if \
       :: HAS_FINISHED_THIS(peer) && MUTANT != BLAME_FINISHED -> cleared = cleared | BIT(peer); suspect = 0 \
       :: else -> BLAME(peer) \
       fi }
#endif
#if MUTANT == DONE_FIRST
#define READY true
#else
#define READY (suspect == 0)
#endif

#if DISAGREE && MUTANT != NO_RECORDS
#define DIFFER(own, theirs) (own != 0 && theirs != 0 && own != theirs && (own - 1) / 32 == (theirs - 1) / 32)
#define COMPARE_WITH(peer) \
  :: atomic { READY && (DIFFER(record[me * 2], record[(peer) * 2]) || DIFFER(record[me * 2 + 1], record[(peer) * 2 + 1])) -> \
       FAIL(MISMATCH) }
#else
#define COMPARE_WITH(peer)
#endif

#if RANKS == 3
#define LOOK_AROUND LOOK_AT(NEXT(me)) LOOK_AT(NEXT(NEXT(me))) COMPARE_WITH(NEXT(me)) COMPARE_WITH(NEXT(NEXT(me)))
#define OF_ALL(what_holds) (what_holds(NEXT(me)) && what_holds(NEXT(NEXT(me))))
#else
#define LOOK_AROUND LOOK_AT(NEXT(me)) COMPARE_WITH(NEXT(me))
#define OF_ALL(what_holds) what_holds(NEXT(me))
#endif

/* A crash: kill -9, and the kernel closes the lifeline. It may come before any write to what is shared, and while the rank waits; what it does
   between its writes nobody sees. */
#if CRASHES
#define OR_DIE :: atomic { crashes > 0 -> crashes--; gone[me] = true; goto ended }
#else
#define OR_DIE
#endif
#define MEANWHILE LOOK_AROUND OR_DIE

/* Communicator::Impl::fail */
#if MUTANT == FINISH_ANYHOW
#define FAIL(whom) culprit[me] = whom; done[me] = NOW; state[me] = FAILED; goto ended
#elif MUTANT == FAIL_SILENTLY
#define FAIL(whom) culprit[me] = whom; goto ended
#else
#define FAIL(whom) culprit[me] = whom; state[me] = FAILED; goto ended
#endif

/* Communicator::Impl::blame: a failed peer's last words go round. Nobody is blamed but who died before he had finished this call. */
#if MUTANT == BLAME_MESSENGER
#define CULPRIT(peer) (peer)
#else
#define CULPRIT(peer) (state[peer] == FAILED -> culprit[peer] : (peer))
#endif
#if DISAGREE
#define BLAME(peer) assert(CULPRIT(peer) == MISMATCH); FAIL(CULPRIT(peer))
#else
#define BLAME(peer) \
  assert(CULPRIT(peer) < RANKS && gone[CULPRIT(peer)] && !HAS_FINISHED_THIS(CULPRIT(peer))); FAIL(CULPRIT(peer))
#endif

/* A slot or line is written in two steps. What is begun has no right content, and nobody else may be at it. */
#define BEGIN_WRITE(place) assert(place < WRITING); place = WRITING + me
#define END_WRITE(place, piece) assert(place == WRITING + me); place = STAMP(NOW, piece, me, HISTORY(me))
/* Read at the beginning of a read and at its end. */
#define SEE(place, piece, writer) assert(place == STAMP(NOW, piece, writer, HISTORY(me)))
#define SEE_SLOT(writer) SEE(SLOT(writer, got), got, writer)
#define SEE_LINE(writer) SEE(line[LINE(writer)], 0, writer)
#define SEE_PUT(writer) SEE(SLOT(0, (writer) - 1), (writer) - 1, writer)
#if RANKS == 3
#define SEE_ALL(see) see(NEXT(me)); see(NEXT(NEXT(me)))
#else
#define SEE_ALL(see) see(NEXT(me))
#endif

#define SEE_ARRIVED \
  if \
  :: what == TINY -> SEE_ALL(SEE_LINE) \
  :: what == TINY_ROOT -> SEE_LINE(0) \
  :: what == PUT -> SEE_ALL(SEE_PUT) \
  fi

/* Run::signal, with the history in the line before the progress. */
#if DISAGREE && MUTANT == CALL_ALONE
#define OWN_FLAG (1 + NOW * 2 + alone)
#else
#define OWN_FLAG (1 + NOW * HISTORIES + HISTORY(me))
#endif
#if DISAGREE
#define DIGEST(rank, lane) digest[LANE(rank, lane) * 2 + PARITY]
#define TELL_DIGEST(lane) DIGEST(me, lane) = OWN_FLAG
#define AGREES(peer) (DIGEST(peer, 0) == OWN_FLAG || MUTANT == NO_HISTORY)
#else
#define TELL_DIGEST(lane) skip
#define AGREES(peer) true
#endif
#define SIGNAL(lane, count) TELL_DIGEST(lane); progress[LANE(me, lane)] = 1 + NOW * SIGNALS + (count)

/* The peers' parts of a wait. Run::wait; Run::poll_line. */
#define HAS_SENT(peer) HAS_SIGNALLED(peer, 0, got + 1)
#define HAS_PUT(peer) HAS_SIGNALLED(peer, 0, 1)
#if MUTANT == CREDIT_EARLY
#define LATE 1
#else
#define LATE 0
#endif
#define HAS_CREDIT_OF(peer, lane) (piece < DEPTH + LATE || HAS_SIGNALLED(peer, lane, piece + 1 - DEPTH - LATE) || MUTANT == NO_CREDIT)
#define HAS_CREDIT(peer) HAS_CREDIT_OF(peer, 0)
#if MUTANT == NO_HISTORY
#define HAS_FLAGGED(peer) (flag[LINE(peer)] != 0 && (flag[LINE(peer)] - 1) / HISTORIES == NOW)
#elif MUTANT == ANY_ORDER
#define HAS_FLAGGED(peer) (flag[LINE(peer)] != 0)
#else
#define HAS_FLAGGED(peer) (flag[LINE(peer)] == OWN_FLAG)
#endif
#define FLAGS_NO_OTHER(peer) (flag[LINE(peer)] == 0 || flag[LINE(peer)] == OWN_FLAG || (flag[LINE(peer)] - 1) / HISTORIES != NOW)
#define HAS_ARRIVED \
  ((what == TINY && OF_ALL(HAS_FLAGGED)) || (what == TINY_ROOT && HAS_FLAGGED(0)) || (what == PUT && OF_ALL(HAS_PUT)))

/* Run::enter, the rule across calls. `heard` has a bit for each peer that was heard from in the call before (Executable::hears,
   Context::entered and entered_by_all): it had entered that call, and so finished the one before. Of the others the `done` word is read. */
#if MUTANT == RULE_LATE
#define IS_READY(peer) (heard & BIT(peer) || HAS_FINISHED(peer, 3))
#elif MUTANT == RULE_OF_ONE
#define IS_READY(peer) (heard != 0 || HAS_FINISHED(peer, 2))
#elif MUTANT == NO_RULE
#define IS_READY(peer) true
#else
#define IS_READY(peer) (heard & BIT(peer) || HAS_FINISHED(peer, 2))
#endif

#define IS_HERE(number) (call[0] == (number) || call[1] == (number) || call[LAST] == (number))
#if CALLS
#define IS_PASSED(number) (call[0] > (number) && call[1] > (number) && call[LAST] > (number))
#else
#define IS_PASSED(number) (!IS_HERE(number) && !IS_HERE(((number) + SPAN - 1) % SPAN))
#endif
#define IS_NEAR(rank) ((call[rank] + SPAN + 2 - NOW) % SPAN <= 4)

/* What belongs to a call that all ranks have finished is of no use to anybody: forgotten, so that states that differ in nothing else are one.
   Mutants keep it, since they may use it. */
inline forget() {
  d_step {
    if
    :: IS_PASSED(past) ->
       plan[past] = 0;
       i = 0;
       do
       :: i < 2 * SLOTS * RANKS ->
          if
          :: slot[i] != 0 && slot[i] < WRITING && CALL_OF(slot[i]) == past -> slot[i] = 0
          :: else
          fi;
          i++
       :: else -> break
       od;
       i = 0;
       do
       :: i < 2 * RANKS ->
          if
          :: line[i] != 0 && line[i] < WRITING && CALL_OF(line[i]) == past -> line[i] = 0
          :: else
          fi;
          if
          :: progress[i] != 0 && (progress[i] - 1) / SIGNALS == past -> progress[i] = 0
          :: else
          fi;
          if
          :: flag[i] != 0 && (flag[i] - 1) / HISTORIES == past -> flag[i] = 0
          :: else
          fi;
#if DISAGREE
          if
          :: digest[i * 2] != 0 && (digest[i * 2] - 1) / 2 == past -> digest[i * 2] = 0
          :: else
          fi;
          if
          :: digest[i * 2 + 1] != 0 && (digest[i * 2 + 1] - 1) / 2 == past -> digest[i * 2 + 1] = 0
          :: else
          fi;
#endif
          i++
       :: else -> break
       od;
       i = 0
    :: else
    fi;
    past = 0
  }
}

/* Executable::hears: waits for signals, not those for credits, which there may be no need to wait for. */
#if MUTANT == CREDIT_HEARD
#define CREDITORS EVERYBODY
#else
#define CREDITORS 0
#endif
#define WHOM_IT_HEARS \
  ((what == ALL || what == TINY || (what == PUT && me == 0)) -> EVERYBODY : \
   (what == RING -> BIT(BEFORE(me)) : \
    ((what == PUT || (what == SEND && me != 0) || (what == TINY_ROOT && me == 0)) -> 0 : \
     (me == ROOT -> CREDITORS : BIT(ROOT)))))

/* Run::finish, and the beginning of the next call, of which nobody knows more yet than whether there is one. */
inline finish() {
  done[me] = NOW;
  heard = WHOM_IT_HEARS & ~BIT(me);
  what = 0; piece = 0; got = 0; cleared = 0; suspect = 0;
#if DISAGREE
  alone = 0;
#endif
#if CALLS
  NOW = NOW + 1;
#if FORGET
  past = NOW - 1;
  forget();
#endif
  if
  :: plan[NOW] == 0 -> plan[NOW] = (NOW > CALLS -> LEAVE : STAY)
  :: else
  fi;
#else
  NOW = (NOW + 1) % SPAN;
  assert(IS_NEAR(0) && IS_NEAR(1) && IS_NEAR(LAST));
  past = (NOW + SPAN - 1) % SPAN;
  forget();
  if
  :: plan[NOW] == 0 -> plan[NOW] = STAY
  :: plan[NOW] == 0 -> plan[NOW] = LEAVE
  :: plan[NOW] != 0
  fi;
#endif
  if
  :: plan[NOW] == LEAVE -> goto leaving
  :: else -> goto entering
  fi
}

/* Any plan of this run's. */
inline choose() {
  if
  :: PLANS & BIT(ALL) -> what = ALL
  :: PLANS & BIT(LONG) -> what = LONG
  :: PLANS & BIT(SHORT) -> what = SHORT
  :: PLANS & BIT(TINY) -> what = TINY
  :: PLANS & BIT(TINY_ROOT) -> what = TINY_ROOT
  :: PLANS & BIT(SEND) -> what = SEND
  :: PLANS & BIT(PUT) -> what = PUT
  :: PLANS & BIT(RING) -> what = RING
  fi
}

/* The call's plan, the same on all ranks but for one that strays; Run::write_record. */
inline enter() {
  if
  :: plan[NOW] == STAY -> choose(); plan[NOW] = what
  :: else -> what = plan[NOW]
  fi;
#if DISAGREE
  if
  :: !strayed -> strayed = true; strays[me] = true; alone = 1; choose()
  :: true
  fi;
  record[LINE(me)] = 1 + NOW * 32 + what * 2 + alone;
#endif
  halves = halves ^ TURNED
}
