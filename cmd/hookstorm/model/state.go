package model

// Bounds of every world.
const (
	sends   = 2
	workers = 2
	events  = 2
	effects = 2
	jobs    = events + effects // one dispatch for each event, then one attempt for each effect
	rows    = 3                // maximum rows of a job
)

// State describes one moment completely. It is a value without pointers, so == compares states.
type State struct {
	Sends       [sends]Send
	Events      [events]Event
	Effects     [effects]Effect
	Jobs        [jobs]Job
	Workers     [workers]Worker
	Destination Destination
	Operator    Operator
	Left        Budget
	Configured  [workers]uint8 // the configuration of each worker, from 0
	Newest      uint8          // the newest announced configuration
	Window      uint8          // number, from 1, of the event that opened the body's window; 0 if no window is open
	Routes      uint8          // the version of the configured routes
	Broken      Invariant      // a violation by the last step, if the other fields do not show it
	JobsLost    bool           // an operator deleted a waiting job
}

// Budget limits the optional steps that may still happen.
type Budget struct {
	Crashes uint8 // processes that die or are shut down
	Faults  uint8 // lost responses, stalls, refusals, deleted jobs
	Replays uint8 // replays of events
	Orders  uint8 // operator actions on effects
	Pauses  uint8 // pauses of the destination
	Reloads uint8 // reloads of the routes
}

// Send is one delivery of the sender and its progress in the gateway.
type Send struct {
	At SendStep
}

// SendStep is the progress of a delivery.
type SendStep uint8

// The steps of a delivery.
const (
	sendWaits    SendStep = iota // not sent yet
	sendVerified                 // its signature is valid
	sendLooked                   // select_then_insert: no row of its event was found
	sendKeyed                    // dedup_own_transaction: the key is committed, the event is not
	sendJobless                  // job_outside_transaction: the event is committed, the job is not
	sendStored                   // T1 is committed
	sendEarly                    // ack_before_commit: answered 2xx before T1
	sendAcked                    // answered 2xx
	sendEnded                    // answered differently, or not at all
)

// Event is a row of processed_events with its delivery, and the history that the checks of the
// invariants need.
type Event struct {
	Rows             uint8 // 1 once accepted
	Outcome          Outcome
	Generation       uint8
	EffectGeneration uint8 // generation of the effects that a dispatch creates
	Replays          uint8 // rows of event_replays
	Stored           bool  // its delivery is stored, byte for byte
	Flushed          bool  // its COMMIT is on disk
	Body             uint8 // in a world that deduplicates by content: ofSends or ofBefore

	Sent       bool  // history: a delivery of the event was verified
	Dispatched uint8 // history: dispatches in this generation; more than one is a violation
	Ordered    uint8 // history: replays that an operator requested
}

// Outcome is the state of an event.
type Outcome uint8

// The outcomes. The model has no held or dropped events: they never reach a worker.
const (
	none Outcome = iota
	received
	dispatched
	failedToDispatch
)

// Effect is a row of effects, with the history that the receiver and the checks need.
type Effect struct {
	State     EffectState
	Attempts  uint8
	ClaimedBy Holder
	LeaseOver bool
	Doubt     bool    // maybe_applied_since is set
	Forgotten bool    // key_ttl has passed, and the receiver forgot the key
	Body      Version // the body that every attempt sends; 0 until it is rendered

	Open      holders // history: holders whose attempts may have been applied, since an operator last reopened the effect
	Confirmed bool    // history: the receiver confirmed the effect
	Sent      Version // history: the body that the receiver saw under the key
	Applied   uint8   // history: how often an effect's statement committed in this Postgres
}

// Version is a version of a request's body, or mixed if attempts carried different bodies or
// keys.
type Version uint8

const mixed Version = 255

// Job is the set of rows of river_job for one piece of work. Usually it has one row. A replay or a
// retry may insert another row while the earlier one still exists.
type Job [rows]Row

// Row is the state of a row of river_job.
type Row uint8

// The states of a row. A finished job has no row.
const (
	noRow Row = iota
	waiting
	running // even if its worker is dead
)

// live reports whether River runs the job, or will run it.
func (j *Job) live() bool { return *j != Job{} }

// insert adds a row. If all rows are taken, it adds none, because another row would change nothing.
func (j *Job) insert() {
	for i := range j {
		if j[i] == noRow {
			j[i] = waiting
			return
		}
	}
}

// drop removes a row. A worker that runs this row continues without a row.
func (s *State) drop(job, row int) {
	s.Jobs[job][row] = noRow
	for w := range s.Workers {
		if worker := &s.Workers[w]; worker.At != workerIdle && !worker.Probe && int(worker.Job) == job && int(worker.Row) == row {
			worker.Row, worker.Detached = rows, true
		}
	}
}

// endRunning removes the row of worker w's job if the row is running, even if it now runs for
// another worker.
func (s *State) endRunning(w int) {
	if job, row := s.Workers[w].Job, s.Workers[w].Row; row != rows && s.Jobs[job][row] == running {
		s.drop(int(job), int(row))
	}
}

// Holder is the holder of a claim: a worker's run, or gone if that run died. The value nobody means
// that there is no claim.
type Holder uint8

const (
	nobody Holder = 0
	gone   Holder = workers + 1
)

func holder(w int) Holder { return [workers]Holder{1, 2}[w] }

// holders is a set of Holder.
type holders uint8

func (s holders) has(h Holder) bool      { return s&(1<<h) != 0 }
func (s holders) with(h Holder) holders  { return s | 1<<h }
func (s holders) minus(h Holder) holders { return s &^ (1 << h) }

// Worker is a process with at most one run of a job.
type Worker struct {
	At       WorkerStep
	Job      uint8
	Row      uint8   // row of the job; rows if that row was removed
	Detached bool    // its row is not running, or runs for another worker
	Plan     uint8   // dispatch: the generation that was planned
	Body     Version // attempt: version of its request; 0 until it is rendered
	Verdict  Verdict
	Probe    bool
	Born     bool // its attempt began with the effect and runs without a job; Row is the row of the fallback job
	Settled  bool // the ledger has the outcome of this attempt
	Again    bool // its job must run once more
}

// WorkerStep is the progress of a worker's run.
type WorkerStep uint8

// The steps of a worker.
const (
	workerIdle     WorkerStep = iota
	workerFetched             // the worker has a job
	workerPlanned             // dispatch: the plan is made
	workerTurn                // order_lock_dropped: its order check passed
	workerUnsure              // attempt: the claim got no response
	workerTakeBack            // attempt: the claim must be withdrawn
	workerGranted             // attempt: the claim is committed
	workerAnswered            // attempt: the call has ended
	workerSettled             // probe: the attempt is settled, the breaker is not
	workerEnding              // River has not recorded yet how the run ended
)

// Destination is the row of the only destination.
type Destination struct {
	Paused  bool
	Breaker Breaker
}

// Breaker is the state of a destination's circuit breaker.
type Breaker uint8

// The states of a breaker.
const (
	closed Breaker = iota
	open
	halfOpen
)

// Operator is the operator, with at most one unanswered action at a time.
type Operator struct {
	Order  Order // the action that has no response yet
	Target uint8
	Logged bool // the action's row is in the operator log
}
