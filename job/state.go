package job

// State says where a job is. It is derived from the place that holds the job's
// id in Redis and never stored a second time.
type State string

const (
	// Delayed jobs stand in the delayed set until their due time: new jobs with
	// a delay, planned ticks of schedules, and retries in back-off.
	Delayed State = "delayed"
	// Waiting jobs are due and stand in a lane until a worker has a free slot.
	Waiting State = "waiting"
	// Active jobs are leased to a worker, which is running their handler.
	Active State = "active"
	// Completed jobs had a handler that returned nil.
	Completed State = "completed"
	// Dead jobs used up their attempts or leases, or failed for good. They are
	// kept for the dead retention and can be revived.
	Dead State = "dead"
	// Cancelled jobs were ended by request.
	Cancelled State = "cancelled"
	// Expired jobs were not started before their own deadline.
	Expired State = "expired"
	// Skipped jobs are ticks that a schedule's policy decided not to run.
	Skipped State = "skipped"
)

// States lists every state, live ones first.
var States = []State{Delayed, Waiting, Active, Completed, Dead, Cancelled, Expired, Skipped}

// moves is the table of legal moves. The scripts enforce it: each checks the
// state it finds before it writes. docs/states.md draws the same table.
var moves = map[State][]State{
	Delayed: {Delayed, Waiting, Cancelled, Expired, Skipped},
	Waiting: {Active, Delayed, Cancelled, Expired},
	Active:  {Completed, Delayed, Waiting, Dead, Cancelled},
	Dead:    {Waiting},
}

// CanBecome reports whether a job in state s may move to state to.
func (s State) CanBecome(to State) bool {
	for _, m := range moves[s] {
		if m == to {
			return true
		}
	}
	return false
}

// Live reports whether the job can still run without a person's doing.
func (s State) Live() bool { return s == Delayed || s == Waiting || s == Active }

// Ended reports whether s is an end state. Dead is one, although a dead job can
// be revived.
func (s State) Ended() bool { return s != "" && !s.Live() }

// Valid reports whether s is one of States.
func (s State) Valid() bool {
	for _, known := range States {
		if s == known {
			return true
		}
	}
	return false
}

// Reason says why a job ended other than by completing.
type Reason string

// The reasons, with the end states they belong to.
const (
	ReasonAttempts  Reason = "attempts"  // dead: the last allowed attempt failed
	ReasonPermanent Reason = "permanent" // dead: the handler said that no retry can help
	ReasonLost      Reason = "lost"      // dead: too many leases ran out, as when a job kills its worker
	ReasonNextTick  Reason = "nextTick"  // dead: the retry would have met the schedule's next tick
	ReasonRequest   Reason = "request"   // cancelled: somebody asked for it
	ReasonReplaced  Reason = "replaced"  // cancelled: a newer run of the schedule took its place
	ReasonRemoved   Reason = "removed"   // cancelled: the schedule that planned it is gone or was changed
	ReasonDeadline  Reason = "deadline"  // expired: not started in time
	ReasonOverlap   Reason = "overlap"   // skipped: an earlier run was still open
	ReasonCatchUp   Reason = "catchUp"   // skipped: missed, and a newer tick runs instead
	ReasonPaused    Reason = "paused"    // skipped: the schedule was paused
)

// Trigger says who created a job.
type Trigger string

// The triggers.
const (
	TriggerSchedule Trigger = "schedule" // a tick of a schedule
	TriggerManual   Trigger = "manual"   // a schedule's run asked for by a person
	TriggerBackfill Trigger = "backfill" // a past tick made up for on request
	TriggerGo       Trigger = "go"       // the Go client
	TriggerCLI      Trigger = "cli"      // the command line
	TriggerHTTP     Trigger = "http"     // the HTTP API
	TriggerInbox    Trigger = "inbox"    // any Redis client, through the inbox
)
