package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/internal/ondemand"
)

// Limits of the retry statistics. Most senders do not sign their retry information, and an
// unauthenticated sender who repeats a delivery must not make the statistics grow.
const (
	maxRetryNumber  = 100 // higher numbers count as this number
	maxRetryReason  = 64  // bytes
	maxRetryReasons = 16  // per source; further reasons count as otherReason
	maxRetryCounts  = 256 // counts in memory; further retries count as retry 1 for otherReason
	otherReason     = "other"
)

// retryOf is a sender's information about a delivery that it sends again.
type retryOf struct {
	source identity.Source
	number int
	reason string
}

// retryCount counts deliveries by their senders' retry information. It writes the counts once a
// second.
type retryCount struct {
	write  func(map[retryOf]int64)
	runner *ondemand.Runner

	mu     sync.Mutex
	counts map[retryOf]int64
}

func newRetryCount(write func(map[retryOf]int64)) *retryCount {
	c := &retryCount{write: write, counts: make(map[retryOf]int64)}
	c.runner = ondemand.NewRunner(countPause, c.writeCounts)
	return c
}

// add counts a delivery, unless it is a first attempt.
func (c *retryCount) add(d Delivery) {
	if d.RetryNumber <= 0 {
		return
	}
	retry := retryOf{source: d.Source, number: min(d.RetryNumber, maxRetryNumber), reason: reasonWord(d.RetryReason)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[retry] == 0 && len(c.counts) >= maxRetryCounts {
		retry.number, retry.reason = 1, otherReason
	}
	retry.reason = strings.Clone(retry.reason) // the reason may be a slice of a longer string
	c.counts[retry]++
	c.runner.Wake()
}

// reasonWord returns a reason in lower case if it is a word such as http_timeout, and otherReason
// otherwise. An empty reason stays empty. The statistics are stored outside all events and no
// erasure reaches them, so they must not contain personal data from a sender.
func reasonWord(reason string) string {
	reason = strings.ToLower(reason)
	isOther := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' }
	if len(reason) > maxRetryReason || strings.ContainsFunc(reason, isOther) {
		return otherReason
	}
	return reason
}

func (c *retryCount) writeCounts() {
	c.mu.Lock()
	counts := c.counts
	c.counts = make(map[retryOf]int64)
	c.mu.Unlock()
	c.write(counts)
}

type retryRow struct {
	Source      identity.Source
	RetryNumber int
	Reason      string
	Deliveries  int64
}

type noteRetries struct {
	Retries []retryRow
	Reasons int // per source
	Other   string
}

// noteRetries adds the counts to the sources' statistics. Losing some counts is harmless.
func (o *Outbox) noteRetries(counts map[retryOf]int64) {
	args := noteRetries{Reasons: maxRetryReasons, Other: otherReason}
	for retry, n := range counts {
		args.Retries = append(args.Retries, retryRow{Source: retry.source, RetryNumber: retry.number, Reason: retry.reason, Deliveries: n})
	}
	err := o.acceptDB.Do(context.Background(), "note_retries", commit.Limits{Timeout: o.noteTimeout}, func(ctx context.Context, tx pgx.Tx, repeated bool) error {
		if repeated {
			return nil // an earlier try may have been committed; too low a count is better than a double count
		}
		_, err := o.sql.NoteRetries.With(args).Exec(ctx, tx)
		return err
	})
	if err != nil {
		o.logger.Debug("retries of senders not counted", slog.Int(logkey.Count, len(counts)), slog.Any(logkey.Err, fmt.Errorf("note retries: %w", err)))
	}
}
