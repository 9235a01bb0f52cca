/* Bounds, plans, mutants, and what the ranks of slots.pml share. */

#ifndef RANKS
#define RANKS 2
#endif
#ifndef SLOTS
#define SLOTS 3           /* Executable::ring_slots */
#endif
#ifndef DEPTH
#define DEPTH SLOTS       /* PlanHeader::depth: the plan's credits are for so many, however many there are */
#endif
#ifndef CALLS
#define CALLS 0           /* the ranks leave after so many; 0: after any number */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef DISAGREE
#define DISAGREE 0        /* one rank makes one call that differs from the others' */
#endif
#ifndef ALL_PIECES
#define ALL_PIECES 1
#endif
#ifndef LONG_PIECES
#define LONG_PIECES (SLOTS + 1)
#endif
#ifndef RING_PIECES
#define RING_PIECES (SLOTS + 1)
#endif
#ifndef PLANS
#define PLANS 510         /* all of the eight below */
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef FORGET
#define FORGET (MUTANT == 0)
#endif

/* The plans. Bits of PLANS say which of them a run has; which one is a call's is anybody's guess, and the same on all ranks. */
#define ALL 1             /* one-shot all-reduce: everybody hears from everybody */
#define LONG 2            /* one-shot broadcast of rank 0: more pieces than slots; the root waits for credits alone */
#define SHORT 3           /* the last rank's, of one piece: the root waits for nobody */
#define TINY 4            /* all-reduce through inline lines */
#define TINY_ROOT 5       /* broadcast of rank 0 through its inline line */
#define SEND 6            /* rank 1 sends two pieces to rank 0; a third rank has nothing to do */
#define PUT 7             /* all others write into scratch of rank 0: the one case in which a rank writes others' memory */
#define RING 8            /* everybody sends to the next rank in one lane, and receives from the one before in another: lowered links */
#define STAY 9            /* a call whose plan nobody has needed to know yet */
#define LEAVE 10          /* no call: the ranks leave */

/* Rules that a MUTANT breaks. */
#define NO_RULE 1             /* nobody asks what the peers have finished */
#define RULE_LATE 2           /* call c - 3 is thought to be enough */
#define CREDIT_HEARD 3        /* waiting for a credit counts as having heard from the peer, even where there was no need to wait */
#define DONE_EARLY 4          /* `done` is written before the last read has ended */
#define CREDIT_EARLY 5        /* credits are for one piece more than there are slots */
#define NO_CREDIT 6
#define SIGNAL_FIRST 7        /* signalled when the slot is begun */
#define RING_UNLIKE 8         /* the last rank's ring doesn't move on */
#define NO_PARITY 9           /* one half for all calls */
#define CALL_FORGOTTEN 10     /* progress is the signals of whatever call */
#define FLAG_FIRST 11         /* an inline line's flag before its payload */
#define NO_LOOK 12            /* nobody looks for lost peers */
#define NO_LOOK_ENTERING 13   /* nobody does while he waits to enter */
#define BLAME_FINISHED 14     /* whoever is gone is blamed, though he finished the call */
#define DONE_FIRST 15         /* `done` is read before `state` */
#define BLAME_MESSENGER 16    /* a failed peer is blamed, and not whom it blames */
#define NO_HISTORY 17         /* the history isn't compared */
#define CALL_ALONE 18         /* the call's digest is compared, not the history */
#define NO_RECORDS 19         /* call records aren't compared */
#define FAIL_SILENTLY 20      /* a rank that fails doesn't say so */
#define FINISH_ANYHOW 21      /* a rank that fails says that it has finished */
#define RULE_OF_ONE 22        /* one peer that was heard from speaks for all */
#define ANY_ORDER 23          /* a flag that says another call is taken for this one's */
#define HALF_KEPT 24          /* who writes alone stays in its half */
#define HALVES_UNLIKE 25      /* of a call with one writer the last rank takes it that all take their other halves */

#if CALLS
#define SPAN (CALLS + 2)
#else
#define SPAN (2 * SLOTS)                     /* call numbers go round after so many: (call >> 1) % SLOTS does, too */
#endif
#define MOST_PIECES (SLOTS + 2)
#define SIGNALS (MOST_PIECES + 1)            /* of one call, and none */
#define LAST (RANKS - 1)
#define EVERYBODY ((1 << RANKS) - 1)
#define BIT(rank) (1 << (rank))

#define RUNNING 0
#define LEFT 1
#define FAILED 2
#define MISMATCH RANKS                       /* a culprit: nobody died, the ranks disagree */

/* What is shared. Of each word and slot the writer is its rank; slots are written by others in PUT alone. */
byte done[RANKS];                            /* StatusLine::done */
byte state[RANKS];                           /* StatusLine::state */
byte culprit[RANKS];                         /* the last words: whom a failed rank blames */
bool gone[RANKS];                            /* the lifeline hung up */
byte progress[2 * RANKS];                    /* LaneLine::progress, of two lanes: 1 + call * SIGNALS + signals; 0: too old for anybody */
byte slot[2 * SLOTS * RANKS];                /* both halves of the staging: what piece of which call lies there */
byte line[2 * RANKS];                        /* InlineLine::payload, of both parities */
byte flag[2 * RANKS];                        /* InlineLine::flag */
#if DISAGREE
byte digest[4 * RANKS];                      /* LaneLine::digest, of two lanes and both parities */
byte record[2 * RANKS];                      /* CallRecord: its call and digest. How it is read in one piece is tests/orders' */
bool strays[RANKS];                          /* the rank's history is another than the others' */
bool strayed;
#endif

/* What nobody could look at: the plans that were chosen, each rank's call, and how many may still die. */
byte plan[SPAN];
byte call[RANKS] = 1;
byte crashes = CRASHES;

/* A piece's content, by call, piece and writer; 0: too old for anybody. */
#if DISAGREE
#define HISTORY(rank) strays[rank]
#define HISTORIES 2
#else
#define HISTORY(rank) 0
#define HISTORIES 1
#endif
#define STAMP(number, piece, writer, history) (1 + (((number) * MOST_PIECES + (piece)) * RANKS + (writer)) * HISTORIES + (history))
#define CALL_OF(stamp) (((stamp) - 1) / (MOST_PIECES * RANKS * HISTORIES))
#define WRITING 250                          /* + rank */
#if SPAN * MOST_PIECES * RANKS * HISTORIES >= 249 || SPAN * SIGNALS >= 255 || (DISAGREE && SPAN > 7)
#error "these bounds don't fit into bytes"
#endif
#if ALL_PIECES > MOST_PIECES || LONG_PIECES > MOST_PIECES || RING_PIECES > MOST_PIECES || DEPTH > SLOTS || DEPTH < 2
#error "these pieces or slots are more than the model has"
#endif

#define NOW call[me]
#define NEXT(rank) (((rank) + 1) % RANKS)
#define BEFORE(rank) (((rank) + LAST) % RANKS)
#define LANE(rank, lane) ((rank) * 2 + (lane))
#if MUTANT == NO_PARITY
#define PARITY 0
#else
#define PARITY (NOW & 1)
#endif

#if CALLS
#define IS_PAST(word, target, span) ((word) >= (target))
#define HAS_FINISHED(rank, ago) (done[rank] + (ago) >= NOW)
#define HAS_FINISHED_THIS(rank) HAS_FINISHED(rank, 0)
#else
/* Run::wait: by difference. */
#define IS_PAST(word, target, span) ((((word) + (span)) - (target)) % (span) < (span) / 2)
#define HAS_FINISHED(rank, ago) ((done[rank] + (ago) + SPAN - NOW) % SPAN < SPAN - 2)
#define HAS_FINISHED_THIS(rank) ((done[rank] + SPAN - NOW) % SPAN < SPAN / 2)
#endif

/* Run::wait: whether a peer's lane has done so many signals of this call. */
#if MUTANT == CALL_FORGOTTEN
#define HAS_SIGNALLED(rank, lane, count) \
  (progress[LANE(rank, lane)] != 0 && (progress[LANE(rank, lane)] - 1) % SIGNALS >= (count))
#else
#define HAS_SIGNALLED(rank, lane, count) \
  (progress[LANE(rank, lane)] != 0 && IS_PAST(progress[LANE(rank, lane)] - 1, NOW * SIGNALS + (count), SPAN * SIGNALS))
#endif

/* Run::slot_of, Run::begin: each call begins behind the slots of the one before, whichever plan that was. The code counts the calls that write slots, and those in
   which one rank alone does; any number will do that all ranks agree on. */
#define PIECES(which) \
  ((which) == LONG -> LONG_PIECES : ((which) == ALL -> ALL_PIECES : ((which) == SEND -> 2 : \
   ((which) == PUT -> LAST : ((which) == RING -> RING_PIECES : 1)))))
#define SLOTS_PER_CALL(which) (PIECES(which) < SLOTS -> PIECES(which) : SLOTS)
#if MUTANT == RING_UNLIKE
#define FIRST_SLOT(which) ((me == LAST -> 0 : (NOW >> 1) * SLOTS_PER_CALL(which)) % SLOTS)
#else
#define FIRST_SLOT(which) (((NOW >> 1) * SLOTS_PER_CALL(which)) % SLOTS)
#endif
#define SLOT(owner, piece) slot[((owner) * 2 + ((halves >> (owner)) & 1)) * SLOTS + (FIRST_SLOT(what) + (piece)) % SLOTS]
#define LINE(owner) ((owner) * 2 + PARITY)

#define ROOT (what == SHORT -> LAST : (what == SEND -> 1 : 0))

/* Context::turn: whose half is the other one from this call on, a bit for each rank. Only rooted calls are known to have one writer (SEND isn't). */
#define TURNED_BY(ones) ((what == TINY || what == TINY_ROOT) -> 0 : ((what == LONG || what == SHORT) -> ones : EVERYBODY))
#if MUTANT == NO_PARITY
#define TURNED 0
#elif MUTANT == HALF_KEPT
#define TURNED TURNED_BY(0)
#elif MUTANT == HALVES_UNLIKE
#define TURNED TURNED_BY((me == LAST -> EVERYBODY : BIT(ROOT)))
#else
#define TURNED TURNED_BY(BIT(ROOT))
#endif
