package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// The kinds of our jobs. They never change: a River leader discards stuck jobs
// of kinds it does not know.
const (
	KindDispatch = "dispatch"
	KindEffect   = "effect"
)

const (
	// MaxDispatchAttempts is how often a dispatch is tried before its event
	// counts as failed.
	MaxDispatchAttempts = 25
	// maxEffectAttempts is River's own bound. It is out of reach: the ledger
	// decides when an effect's attempts are used up, and a rescue, which River
	// counts, is not a failure.
	maxEffectAttempts = 10_000

	maxTagLen = 60
)

// DispatchArgs are the arguments of a dispatch job: a reference, never a payload.
type DispatchArgs struct {
	EventID    string    `json:"event_id"`
	ReceivedAt time.Time `json:"received_at"`
	Source     string    `json:"source"`
}

// Kind implements river.JobArgs.
func (DispatchArgs) Kind() string { return KindDispatch }

// Ref is the event to dispatch.
func (a DispatchArgs) Ref() EventRef { return EventRef{Source: a.Source, EventID: a.EventID} }

// EffectArgs are the arguments of an effect job: a reference, never a payload.
type EffectArgs struct {
	Destination string `json:"destination"`
	Generation  int    `json:"generation"`
	Key         string `json:"key"`
	Scope       string `json:"scope"`
}

// Kind implements river.JobArgs.
func (EffectArgs) Kind() string { return KindEffect }

// ID is the effect to attempt.
func (a EffectArgs) ID() EffectID {
	return EffectID{Scope: a.Scope, Key: a.Key, Generation: a.Generation}
}

// jobMetadata is what a person, and the span of the work, need to know of a
// job. River UI shows it.
type jobMetadata struct {
	DedupKey       string `json:"dedup_key,omitempty"`
	EffectURL      string `json:"effect_url,omitempty"`
	EventURL       string `json:"event_url,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	Traceparent    string `json:"traceparent,omitempty"`
}

// dispatchJob is what the job of one event is made of.
type dispatchJob struct {
	ref         EventRef
	eventType   string
	receivedAt  time.Time
	queue       string
	traceparent string
}

func (o *Outbox) dispatchJob(j dispatchJob) river.InsertManyParams {
	return river.InsertManyParams{
		Args: DispatchArgs{Source: j.ref.Source, EventID: j.ref.EventID, ReceivedAt: j.receivedAt},
		InsertOpts: &river.InsertOpts{
			MaxAttempts: MaxDispatchAttempts,
			Metadata: encodeMetadata(jobMetadata{
				DedupKey:    j.ref.EventID,
				EventURL:    o.eventURL(j.ref),
				Traceparent: j.traceparent,
			}),
			Queue: j.queue,
			Tags:  tags("src-"+j.ref.Source, "type-"+j.eventType),
		},
	}
}

// effectJob is what the job of one effect is made of.
type effectJob struct {
	id          EffectID
	destination string
	queue       string
	event       EventRef // zero for an enqueued effect
	eventType   string
	traceparent string
}

func (o *Outbox) effectJob(j effectJob) river.InsertManyParams {
	metadata := jobMetadata{
		EffectURL:      o.effectURL(j.id),
		IdempotencyKey: j.id.IdempotencyKey(),
		Traceparent:    j.traceparent,
	}
	labels := []string{"dst-" + j.destination}
	if j.event != (EventRef{}) {
		metadata.DedupKey, metadata.EventURL = j.event.EventID, o.eventURL(j.event)
		labels = append(labels, "src-"+j.event.Source, "type-"+j.eventType)
	}
	return river.InsertManyParams{
		Args: EffectArgs{Destination: j.destination, Scope: j.id.Scope, Key: j.id.Key, Generation: j.id.Generation},
		InsertOpts: &river.InsertOpts{
			MaxAttempts: maxEffectAttempts,
			Metadata:    encodeMetadata(metadata),
			Queue:       j.queue,
			Tags:        tags(labels...),
		},
	}
}

// insertJobs inserts jobs in the caller's transaction. After an error the
// transaction must be rolled back.
func (o *Outbox) insertJobs(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	if _, err := o.river.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("insert jobs: %w", err)
	}
	return nil
}

func (o *Outbox) eventURL(ref EventRef) string {
	if o.consoleURL == "" {
		return ""
	}
	return o.consoleURL + "/events/" + url.PathEscape(ref.Source) + "/" + url.PathEscape(ref.EventID)
}

func (o *Outbox) effectURL(id EffectID) string {
	if o.consoleURL == "" {
		return ""
	}
	return o.consoleURL + "/effects/" + id.IdempotencyKey()
}

func encodeMetadata(m jobMetadata) []byte {
	encoded, err := json.Marshal(m)
	if err != nil { // a struct of strings always encodes
		panic(err)
	}
	return encoded
}

// tags makes labels fit River's grammar: at least three of [A-Za-z0-9_-], and
// no dash at either end.
func tags(labels ...string) []string {
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
	return out
}
