package fleet

import "time"

// What statements of the fleet take. Times are given in seconds, as an interval or
// until now.

// named is the destination a statement is about.
type named struct{ Destination string }

type announceWorker struct {
	ID             string
	RunningSeconds float64
	ConfigHash     string
	Destinations   []string
	Queues         []string // of each destination
	Configuration  string   // hash
	Routes         string
	Sources        []string
	HandlerSources []string
	Dispatches     bool
	Accepts        bool
	UnusedSeconds  float64 // after which a configuration begins anew
}

type asideRow struct{ Destination, AsideQueue string }

type aside struct{ Most int }

type asideOf struct{ Aside []asideRow }

type beginProbe struct {
	Destination  string
	LeaseSeconds float64
	Until        time.Time // of an earlier try of ours
	Repeated     bool
}

type createQueue struct{ Name string }

type endJobs struct {
	Queues []string
	Limit  int
}

type moveJobs struct {
	Queues []string // from which
	Limit  int
}

type noteSuccess struct {
	Destination string
	AgoSeconds  float64
}

type openBreaker struct {
	Destination  string
	Reason       string
	ProbeSeconds float64
}

type redirectJob struct{ JobID int64 }

type retireDestination struct {
	Destination string
	SeenSeconds float64 // a process that was seen since then runs
}

type seenWithin struct{ SeenSeconds float64 }

type setPaused struct {
	Destination string
	Paused      bool
	Who, Reason string
	Own         bool // leaves alone what others have paused: see SetPausedFor
}

type takeTokens struct {
	Destination   string
	TokenSeconds  float64
	Burst, Tokens int
}

type tellPausesAgain struct {
	Topic          string // of River's notifications
	UnheardSeconds float64
}

type withdrawWorker struct{ ID string }

type recallJobs struct {
	Destination string
	AsideQueue  string
	Limit       int
}

type setAside struct {
	AsideQueue string
	JobID      int64
}
