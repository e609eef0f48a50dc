package fleet

import (
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

// This file declares the arguments of the fleet's statements. Durations are in seconds. A duration
// is an interval, or is counted back from now.

// named is the argument of a statement that needs only a destination's name.
type named struct{ Destination string }

type announceWorker struct {
	ID             string
	RunningSeconds float64
	ConfigHash     string
	Destinations   []string
	Queues         []string // one queue for each destination
	Configuration  string   // hash of the configuration
	Routes         string
	Sources        []string
	HandlerSources []string
	Dispatches     bool
	Accepts        bool
	UnusedSeconds  float64 // time after which an unused configuration gets a new number
	Renewed        bool    // the process's previous announcement had the same configuration
}

type asideRow struct{ Destination, AsideQueue string }

type aside struct{ Most int }

type asideOf struct{ Aside []asideRow }

type beginProbe struct {
	Destination  string
	LeaseSeconds float64
	Until        time.Time // deadline of the probe that an earlier try of this call began
	Repeated     bool
}

type createQueue struct{ Name string }

type endJobs struct {
	Queues []string
	Limit  int
}

type moveJobs struct {
	Queues []string // queues from which jobs are moved
	Limit  int
}

type openBreaker struct {
	Destination  string
	Reason       string
	ProbeSeconds float64
}

type tripBreaker struct {
	openBreaker

	FailingSeconds, SucceededSeconds float64 // 0: unknown, or no success
}

type redirectEvent struct {
	Source          identity.Source
	EventID         identity.EventID
	Queue           string
	JobID           int64
	Configuration   int64 // number of the asking process's configuration
	SeenSeconds     float64
	PatienceSeconds float64 // time for which a gateway counts
}

type redirectJob struct{ JobID int64 }

type rendersElsewhere struct {
	Source        identity.Source
	HasSource     bool // the asking process has the source
	Destination   string
	Configuration int64  // number of the asking process's configuration
	Routes        string // digest of that configuration's routes
	SeenSeconds   float64
}

type readingDestinations struct{ Of []string }

type retireDestination struct {
	Destination string
	SeenSeconds float64 // a process seen within this time counts as running
}

type seenWithin struct{ SeenSeconds float64 }

type freeJobs struct {
	SilentSeconds float64
	Error         string
}

type setPaused struct {
	Destination string
	Paused      bool
	Who, Reason string
	Own         bool // leaves other pauses unchanged: see SetPausedFor
}

type takeTokens struct {
	Destination     string
	TokenSeconds    float64
	Burst, Tokens   int
	PatienceSeconds float64
}

type tellPausesAgain struct {
	Topic          string // topic of River's notifications
	UnheardSeconds float64
}

type withdrawWorker struct{ ID string }

type recallJobs struct {
	Destination string
	AsideQueue  string
	Limit       int
}

type takeBackEvents struct {
	Sources []string
	Queues  []string // queues from which the jobs are moved
	Limit   int
}

type unhandledSources struct {
	Sources       []string
	Configuration int64 // number of the asking process's configuration
	SeenSeconds   float64
}

type setAside struct {
	AsideQueue string
	JobID      int64
}
