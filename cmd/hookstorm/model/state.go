package model

// Bounds of every world.
const (
	sends   = 2
	workers = 2
	events  = 2
	effects = 2
	jobs    = events + effects // a dispatch for each event, then an attempt for each effect
	rows    = 3                // of a job
)

// State is all that is true at one moment. It is a value without pointers, so that two
// states are the same when they are equal.
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
	Newest      uint8          // the newest that was announced
	Window      uint8          // whose body is open to no other event: of the event before this number; 0: of none
	Routes      uint8          // the version of the configured routes
	Broken      Invariant      // what the last step broke that a state alone does not show
	JobsLost    bool           // a person or River took a live job away
}

// Budget is what may still happen that need not.
type Budget struct {
	Crashes uint8 // processes that die, or that are told to stop
	Faults  uint8 // lost answers, stalls, refusals, lost jobs
	Replays uint8 // of an event
	Orders  uint8 // of an operator about an effect
	Pauses  uint8 // of the destination
	Reloads uint8 // of the routes
}

// Send is one delivery of the sender and the gateway's work on it.
type Send struct {
	At SendStep
}

// SendStep is how far a delivery has come.
type SendStep uint8

// The steps of a delivery.
const (
	sendWaits    SendStep = iota // not sent yet
	sendVerified                 // its signature is right
	sendLooked                   // select_then_insert: no row of its event was seen
	sendKeyed                    // dedup_own_transaction: the key is committed, the event is not
	sendJobless                  // job_outside_transaction: the event is committed, the job is not
	sendStored                   // T1 is committed
	sendEarly                    // ack_before_commit: answered 2xx, T1 is to come
	sendAcked                    // answered 2xx
	sendEnded                    // answered otherwise, or not at all
)

// Event is a row of processed_events with its delivery, and what the tests of the
// invariants have to remember of it.
type Event struct {
	Rows             uint8 // 1 once accepted
	Outcome          Outcome
	Generation       uint8
	EffectGeneration uint8 // of the effects a dispatch makes
	Replays          uint8 // rows of event_replays
	Stored           bool  // its delivery is there, byte for byte
	Flushed          bool  // its COMMIT is on disk
	Body             uint8 // in a world by content: see ofSends

	Sent       bool  // history: a valid delivery of it was verified
	Dispatched uint8 // history: how often in this generation; more than once is too often
	Ordered    uint8 // history: replays that a person ordered
}

// Outcome is the state of an event.
type Outcome uint8

// The outcomes. Held and dropped events of replay guards never reach a worker.
const (
	none Outcome = iota
	received
	dispatched
	failedToDispatch
)

// Effect is a row of effects, and what the receiver and the tests remember of it.
type Effect struct {
	State     EffectState
	Attempts  uint8
	ClaimedBy Holder
	LeaseOver bool
	Doubt     bool    // maybe_applied_since is set
	Forgotten bool    // key_ttl is over: the receiver forgot the key
	Body      Version // that every attempt sends; zero while it is to be rendered

	Open      holders // history: attempts that may have been applied, since a person's last order
	Confirmed bool    // history: the receiver confirmed it
	Sent      Version // history: the body under the key that the receiver saw
	Applied   uint8   // history: how often the statement of an effect in this Postgres was committed
}

// Version of a request's body. Mixed: attempts carried different bodies or keys.
type Version uint8

const mixed Version = 255

// Job is the rows of river_job for one piece of work. Usually there is one; a replay, or
// a retry, inserts another while that of before is still there.
type Job [rows]Row

// Row is the state of a row of river_job.
type Row uint8

// The states of a job. One that is over is as good as none.
const (
	noRow Row = iota
	waiting
	running // also when its worker is dead
)

// live tells whether River works the job, or will.
func (j *Job) live() bool { return *j != Job{} }

// insert adds a row. Beside as many as there is room for, one more changes nothing.
func (j *Job) insert() {
	for i := range j {
		if j[i] == noRow {
			j[i] = waiting
			return
		}
	}
}

// drop ends a row. A run that still has it in its hands has the row of nothing.
func (s *State) drop(job, row int) {
	s.Jobs[job][row] = noRow
	for w := range s.Workers {
		if worker := &s.Workers[w]; worker.At != workerIdle && !worker.Probe && int(worker.Job) == job && int(worker.Row) == row {
			worker.Row, worker.Detached = rows, true
		}
	}
}

// endRunning ends the row of a worker's run, if it is running, for whichever run.
func (s *State) endRunning(w int) {
	if job, row := s.Workers[w].Job, s.Workers[w].Row; row != rows && s.Jobs[job][row] == running {
		s.drop(int(job), int(row))
	}
}

// Holder is who holds a claim: a run of a worker, or nobody who is still alive.
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

// Worker is a process with one run of a job in its hands.
type Worker struct {
	At       WorkerStep
	Job      uint8
	Row      uint8   // of the job; rows when that row is over
	Detached bool    // its row is not running, or runs for another
	Plan     uint8   // dispatch: the generation that was planned
	Body     Version // attempt: of the request it holds; zero while it is to be rendered
	Verdict  Verdict
	Probe    bool
	Born     bool // its attempt began with the effect: no run of a job, Row is that of the job in reserve
	Settled  bool // the ledger has the outcome, under this attempt
	Again    bool // its job runs once more
}

// WorkerStep is how far the run of a worker has come.
type WorkerStep uint8

// The steps of a worker.
const (
	workerIdle     WorkerStep = iota
	workerFetched             // it has a job
	workerPlanned             // dispatch: the plan is made
	workerTurn                // order_lock_dropped: it saw that it is its turn
	workerUnsure              // attempt: the claim has no answer
	workerTakeBack            // attempt: the claim is to be taken back
	workerGranted             // attempt: the claim is committed
	workerAnswered            // attempt: the call is over
	workerSettled             // probe: the attempt is settled, the breaker is not
	workerEnding              // River is to hear how the run ended
)

// Destination is the row of the one destination there is.
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

// Operator is a person, who gives one order at a time.
type Operator struct {
	Order  Order // without an answer yet
	Target uint8
	Logged bool // its row is in the operator log
}
