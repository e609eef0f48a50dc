// Package report formats the results of a bench as a table, as JSON and as a picture. The results
// are the measurements of all rounds, and the goals with which they are compared.
package report

import (
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/internal/spread"
)

// Report holds all measurements of one run.
type Report struct {
	Machine  string        `json:"machine"`
	Postgres string        `json:"postgres"`
	Settings []Setting     `json:"settings"` // settings of every Postgres
	Commit   string        `json:"commit"`
	Previous string        `json:"previous,omitempty"` // commit with which Commit is compared
	Command  string        `json:"command"`
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"took"`
	Rounds   int           `json:"rounds"`
	Rows     int           `json:"rows"`  // rows that simulate years of use, if a scenario creates them
	Quick    bool          `json:"quick"` // all sizes were small: the figures mean little
	// Stolen is the share of CPU time that the host gave to other guests in each round that was
	// kept. LeftOut is the number of rounds dropped because that share was too large.
	Stolen  []float64 `json:"stolen"`
	LeftOut int       `json:"left_out"`
	Series  []Series  `json:"series"`
	Goals   []Outcome `json:"goals"` // outcomes of all goals, measured or not

	mark int // mark of the values being added
}

// Setting is a setting of Postgres, as the server reports it.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Series holds the values of one quantity, one for each round.
type Series struct {
	Section  string    `json:"section"`
	Who      string    `json:"who"`
	Quantity Quantity  `json:"quantity"`
	Unit     string    `json:"unit"`
	Values   []float64 `json:"values"`

	marks []int // marks of the values
}

// Titles of the report's sections.
const (
	SectionAccept   = "Accept, 64 connections at full speed"
	SectionSingle   = "Accept, 1 connection"
	SectionConstant = "Accept, constant arrival rate"
	SectionLife     = "Full lifecycle, sent as fast as accepted"
	SectionBacklog  = "Backlog of an outage, drained"
	SectionIdle     = "Idle system, single events"

	SectionPeersAccept = "Beside the River program: accept, 64 connections"
	SectionPeersLife   = "Beside the River program: full lifecycle"
	SectionPeersDrain  = "Beside the River program: backlog, drained after a pause"
	SectionPeersIdle   = "Beside the River program: idle system, single events"

	SectionDuplicates  = "Accept, duplicates"
	SectionShared      = "Accept, duplicates of what another gateway has accepted"
	SectionGateways    = "Accept, gateways on one Postgres"
	SectionConnections = "Idle connections"
	SectionBodies      = "Accept, bodies of 1 MB over 64 connections"
	SectionCollection  = "Accept, statistics gathered and not"
	SectionCold        = "Full lifecycle, tables never analysed"
	SectionOrder       = "Ordered effects, delivered one after another"
	SectionUpkeep      = "Full lifecycle while upkeep runs"
	SectionGrowth      = "Accept right after a checkpoint, with years of dedup rows"
	SectionYears       = "Full lifecycle right after a checkpoint, with years of events and effects"
	SectionStandby     = "Accept, synchronous standby 5 ms away"
	SectionWaiting     = "Full lifecycle while another destination is paused"
	SectionProfiled    = "Full lifecycle, statements counted"
	SectionProfile     = "Time of Postgres in a full lifecycle, by statement"
	SectionResumed     = "The paused destination, resumed"
	SectionBackfill    = "Live traffic at a steady rate, beside a backfill of the same source"
	SectionDiff        = "Live traffic at a steady rate, beside a diff of routes"
)

// Names of the measured subjects and of their variants.
const (
	Limit           = "limit"
	Naive           = "naive"
	NaiveWithoutGIN = "naive, without GIN indexes"
	Hooklatch       = "Hooklatch"
	WholeLife       = "Hooklatch, gateway and worker"
	Serve           = "Hooklatch, one process"
	RiverProgram    = "River program"

	NeverAnalysed = "never analysed, autovacuum off"
	Analysed      = "analysed copy"
	Empty         = "empty"
	EmptyAtFirst  = "empty, after a checkpoint"
	GrownRandom   = "random ids"
	GrownTimely   = "ids that grow with time"
	FewWaiting    = "10 waiting"
	ManyWaiting   = "many waiting"
	WithUpkeep    = "upkeep twice a second"
	WithoutUpkeep = "without upkeep"

	DuplicateShare       = "%.0f %% duplicates" // format of the duplicate rate in percent
	BesideWaiting        = "with waiting effects"
	BesideWaitingAtFirst = "with waiting effects, after a checkpoint"
	GrownRandomAtFirst   = "random ids, after a checkpoint"
	GrownTimelyAtFirst   = "ids that grow with time, after a checkpoint"
	FourGateways         = "Hooklatch, 4 gateways"
	SharedMemory         = "Hooklatch, 4 gateways and Redis"
	ThisTree             = "this tree"
	PreviousCommit       = "previous commit"
	BesideBackfill       = "beside a backfill"
	WithoutBackfill      = "without a backfill"
	BesideDiff           = "beside a diff"
	WithoutDiff          = "without a diff"
)

// Quantity names what a value measures. It is a column title of the report.
type Quantity string

// Values of Quantity.
const (
	Rate             Quantity = "rate"
	Accepted         Quantity = "accepted"
	Delivered        Quantity = "delivered at the end of the load"
	P50              Quantity = "p50"
	P99              Quantity = "p99"
	Repeated         Quantity = "sent again"
	CPUServer        Quantity = "CPU of the server"
	CPUWorker        Quantity = "CPU of the worker"
	CPUPostgres      Quantity = "CPU of Postgres"
	CPURedis         Quantity = "CPU of Redis"
	CPUClient        Quantity = "CPU of the client"
	WAL              Quantity = "WAL"
	WALWithoutImages Quantity = "WAL without page images"
	FirstDelivery    Quantity = "first delivery"
	Drained          Quantity = "all delivered after"
	Transactions     Quantity = "transactions without events"
	BetweenHeads     Quantity = "from one delivery to the next"
	Connections      Quantity = "connections"
	Memory           Quantity = "memory"
	MemoryPeak       Quantity = "peak memory"
	RateBeginning    Quantity = "rate at the beginning"
	RateEnd          Quantity = "rate at the end"
	ReconcileTime    Quantity = "longest reconcile"
	TemporaryFiles   Quantity = "temporary files"
	CommitTime       Quantity = "one notifying commit"
	CommitsAtOnce    Quantity = "commits at once"
	EventsOfCommit   Quantity = "events of a commit"
	Calls            Quantity = "calls"
	StatementTime    Quantity = "time of statements"
	Buffers          Quantity = "buffers"
	RowsKept         Quantity = "rows kept"
	DeliveryKept     Quantity = "delivery kept"
	ReceiverP50      Quantity = "to the receiver, p50"
	ReceiverP99      Quantity = "to the receiver, p99"
	Fetched          Quantity = "fetched"
	Compared         Quantity = "compared"
	CPUPass          Quantity = "CPU of the command"
)

// units maps each quantity to its unit. CPU times, WAL, kept bytes and the costs of statements are
// per event.
var units = map[Quantity]string{
	Rate: "/s", Accepted: "/s", Delivered: "%", P50: "ms", P99: "ms", Repeated: "", CPUServer: "us", CPUWorker: "us", CPUPostgres: "us", CPURedis: "us", CPUClient: "us",
	WAL: "B", WALWithoutImages: "B", FirstDelivery: "s", Drained: "s", Transactions: "/s", BetweenHeads: "ms", Connections: "", Memory: "MB", MemoryPeak: "MB",
	RateBeginning: "/s", RateEnd: "/s", ReconcileTime: "s", TemporaryFiles: "", CommitTime: "ms", CommitsAtOnce: "x", EventsOfCommit: "",
	Calls: "", StatementTime: "us", Buffers: "", RowsKept: "B", DeliveryKept: "B", ReceiverP50: "ms", ReceiverP99: "ms", Fetched: "/s", Compared: "/s", CPUPass: "us",
}

// Add adds the value of a round.
func (r *Report) Add(section, who string, quantity Quantity, value float64) {
	i := r.index(section, who, quantity)
	if i < 0 {
		i = len(r.Series)
		r.Series = append(r.Series, Series{Section: section, Who: who, Quantity: quantity, Unit: units[quantity]})
	}
	r.Series[i].Values = append(r.Series[i].Values, value)
	r.Series[i].marks = append(r.Series[i].marks, r.mark)
}

// Mark marks the values added from now on, so that Forget can remove them.
func (r *Report) Mark(mark int) { r.mark = mark }

// Forget removes the values with the given mark, and counts their round as left out.
func (r *Report) Forget(mark int) {
	for i := range r.Series {
		s := &r.Series[i]
		for j, of := range slices.Backward(s.marks) {
			if of == mark {
				s.Values, s.marks = slices.Delete(s.Values, j, j+1), slices.Delete(s.marks, j, j+1)
			}
		}
	}
	r.LeftOut++
}

// values returns the values of all rounds, or nil if the quantity was not measured.
func (r *Report) values(section, who string, quantity Quantity) []float64 {
	i := r.index(section, who, quantity)
	if i < 0 {
		return nil
	}
	return r.Series[i].Values
}

func (r *Report) index(section, who string, quantity Quantity) int {
	return slices.IndexFunc(r.Series, func(s Series) bool { return s.Section == section && s.Who == who && s.Quantity == quantity })
}

// median returns the median, or 0 if values is empty.
func median(values []float64) float64 { return spread.Of(values).Median }
