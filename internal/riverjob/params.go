package riverjob

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// maxEffectAttempts is the limit given to River. It is too high to be reached: the ledger
	// decides when an effect's attempts are used up. River also counts rescues, which are not
	// failures.
	maxEffectAttempts = 10_000

	maxTagLen = 60
)

// metadata is the information about a job for operators and for the span of its work. River UI
// shows it.
type metadata struct {
	DedupKey       identity.EventID `json:"dedup_key,omitempty"`
	EffectURL      string           `json:"effect_url,omitempty"`
	EventURL       string           `json:"event_url,omitempty"`
	IdempotencyKey string           `json:"idempotency_key,omitempty"`
	RunURL         string           `json:"run_url,omitempty"`
	Traceparent    string           `json:"traceparent,omitempty"`
}

// DispatchJob describes one event's job.
type DispatchJob struct {
	Event       identity.EventRef
	EventType   string
	Origin      identity.Origin
	Queue       string
	Traceparent string
	Since       time.Time // time that sets the job's position in the queue; zero: the end
}

// jobRow is a job in the form that insert_jobs.sql reads.
type jobRow struct {
	ID          int64 // 0: a new id
	Kind        string
	Queue       string
	Priority    int16
	Args        []byte // JSON
	Metadata    []byte // JSON
	MaxAttempts int16
	Tags        string     // separated by commas; no tag contains a comma
	Since       *time.Time // nil: now
	NotBefore   *time.Time // nil: the job may run immediately
}

// known returns a pointer to the time, or nil for the zero time.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Priority returns River's priority: 1 runs first, 4 last. Events recovered by backfill are
// late already and let live events go first.
func Priority(origin identity.Origin) int16 {
	if origin == identity.Backfill {
		return 4
	}
	return 1
}

// DispatchText contains the columns of a dispatch job that depend on its event, for a statement
// that inserts the job together with the event.
type DispatchText struct {
	Args     string // JSON
	Metadata string // JSON
	Tags     string // separated by commas; no tag contains a comma
}

// Describe returns the columns of a dispatch job that depend on its event.
func (in *Inserter) Describe(j DispatchJob) DispatchText {
	return DispatchText{
		Args: string(encode(DispatchArgs{Source: j.Event.Source, EventID: j.Event.EventID})),
		Metadata: string(encode(metadata{
			DedupKey:    j.Event.EventID,
			EventURL:    in.eventURL(j.Event),
			Traceparent: j.Traceparent,
		})),
		Tags: tags("src-"+string(j.Event.Source), "type-"+j.EventType),
	}
}

func (in *Inserter) dispatch(j DispatchJob) jobRow {
	text := in.Describe(j)
	return jobRow{
		Kind:        KindDispatch,
		Queue:       j.Queue,
		Priority:    Priority(j.Origin),
		Args:        []byte(text.Args),
		Metadata:    []byte(text.Metadata),
		MaxAttempts: MaxDispatchAttempts,
		Tags:        text.Tags,
		Since:       known(j.Since),
	}
}

// maxRunAttempts limits how often a bulk run restarts after a database error.
const maxRunAttempts = 1_000

func (in *Inserter) run(id int64) jobRow {
	return jobRow{
		Kind: KindRun, Queue: QueueUpkeep, Priority: Priority(identity.Webhook), MaxAttempts: maxRunAttempts, Tags: tags("run-" + strconv.FormatInt(id, 10)),
		Args: encode(RunArgs{Run: id}), Metadata: encode(metadata{RunURL: in.runURL(id)}),
	}
}

// EffectJob describes one effect's job.
type EffectJob struct {
	ID          identity.EffectID
	Destination string
	Queue       string
	Event       identity.EventRef // zero for an enqueued effect
	EventType   string
	Origin      identity.Origin // the event's origin
	Traceparent string
	Since       time.Time // time that sets the job's position in the queue; zero: the end
	// JobID and NotBefore are set for an effect that was inserted together with its first
	// attempt. Its job is a fallback in case that attempt is lost: it has the job id stored with
	// the effect, and does not run before the lease ends.
	JobID     int64
	NotBefore time.Time
}

func (in *Inserter) effect(j EffectJob) jobRow {
	row := jobRow{
		ID:          j.JobID,
		Kind:        KindEffect,
		Queue:       j.Queue,
		Priority:    Priority(j.Origin),
		Args:        encode(EffectArgs{Destination: j.Destination, Scope: j.ID.Scope, Key: j.ID.Key, Generation: j.ID.Generation}),
		Metadata:    []byte("{}"),
		MaxAttempts: maxEffectAttempts,
		Since:       known(j.Since),
		NotBefore:   known(j.NotBefore),
	}
	if j.NotBefore.IsZero() {
		row.Metadata, row.Tags = in.Labels(j)
	}
	return row
}

// Labels returns the metadata, as JSON, and the tags, separated by commas, by which operators
// find an effect's job. A fallback job is inserted without them, because it is usually deleted
// before an operator could look.
func (in *Inserter) Labels(j EffectJob) (about []byte, labels string) {
	said := metadata{
		EffectURL:      in.effectURL(j.ID),
		IdempotencyKey: j.ID.IdempotencyKey(),
		Traceparent:    j.Traceparent,
	}
	tagged := []string{"dst-" + j.Destination}
	if j.Event != (identity.EventRef{}) {
		said.DedupKey, said.EventURL = j.Event.EventID, in.eventURL(j.Event)
		tagged = append(tagged, "src-"+string(j.Event.Source), "type-"+j.EventType)
	}
	return encode(said), tags(tagged...)
}

func (in *Inserter) eventURL(ref identity.EventRef) string {
	if in.consoleURL == "" {
		return ""
	}
	return in.consoleURL + "/events/" + url.PathEscape(string(ref.Source)) + "/" + url.PathEscape(string(ref.EventID))
}

func (in *Inserter) effectURL(id identity.EffectID) string {
	if in.consoleURL == "" {
		return ""
	}
	return in.consoleURL + "/effects/" + id.IdempotencyKey()
}

func (in *Inserter) runURL(id int64) string {
	if in.consoleURL == "" {
		return ""
	}
	return in.consoleURL + "/runs/" + strconv.FormatInt(id, 10)
}

func encode[T DispatchArgs | EffectArgs | RunArgs | metadata](value T) []byte {
	encoded, err := json.Marshal(value)
	if err != nil { // strings and integers can always be encoded
		panic(err)
	}
	return encoded
}

// tags converts labels to River's grammar: at least three characters from [A-Za-z0-9_-], and no
// dash at either end. It shortens long labels, and omits labels that do not fit.
func tags(labels ...string) string {
	out := make([]string, 0, len(labels))
	for _, label := range labels {
		tag := strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
				return r
			}
			return '-'
		}, label)
		if len(tag) > maxTagLen {
			tag = tag[:maxTagLen]
		}
		if tag = strings.TrimRight(tag, "-"); len(tag) >= 3 && tag[0] != '-' {
			out = append(out, tag)
		}
	}
	return strings.Join(out, ",")
}
