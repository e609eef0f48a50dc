package patroni

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/internal/retry"
)

// Loss is the way in which the cluster loses its primary.
type Loss string

// Values of Loss.
const (
	// Killed sends SIGKILL to Patroni and Postgres, as when a machine loses power.
	Killed Loss = "killed"
	// Frozen suspends Patroni and Postgres. They continue when a new primary is already running.
	Frozen Loss = "frozen"
	// Orphaned sends SIGKILL to Patroni alone. Its Postgres remains a primary that accepts
	// connections, at the same time as the new primary.
	Orphaned Loss = "orphaned"
	// Deposed suspends Patroni alone, with the same consequence as Orphaned. When Patroni
	// continues, it demotes its Postgres.
	Deposed Loss = "deposed"
)

// besides is the time between the takeover and the return of an old primary that was not killed.
const besides = 3 * time.Second

// Struck is called at the moment of a fault. Its arguments are the fault's target, such as the name
// of a member, and the fault's details, if any.
type Struck func(target, detail string)

// FailOver makes the primary fail, waits until a standby has taken over, and brings the old primary
// back as a standby.
func (c *Cluster) FailOver(ctx context.Context, loss Loss, struck Struck) error {
	old, _, err := c.primary(ctx)
	if err != nil {
		return err
	}
	fail, back := old.ways(ctx, loss)
	struck(old.name, string(loss))
	err = fail()
	if err == nil {
		_, err = c.awaitPrimary(ctx, old.name)
	}
	if loss != Killed && err == nil {
		_ = retry.Wait(ctx, besides) // the function back is called even if ctx ends
	}
	return errors.Join(err, back(), c.AwaitWhole(ctx))
}

// ways returns the functions that make a primary fail and bring it back.
func (m *member) ways(ctx context.Context, loss Loss) (fail, back func() error) {
	start := func() error { return m.patroni.Start(ctx) }
	switch loss {
	case Frozen:
		return m.freeze, m.thaw
	case Orphaned:
		return m.patroni.Kill, start
	case Deposed:
		return m.patroni.Pause, m.patroni.Continue
	default:
		return m.kill, start
	}
}

// CrashPostgres kills the primary's Postgres. Patroni starts it again or lets a standby take over.
func (c *Cluster) CrashPostgres(ctx context.Context, struck Struck) error {
	primary, _, err := c.primary(ctx)
	if err != nil {
		return err
	}
	struck(primary.name, "Postgres alone")
	return errors.Join(primary.signal(syscall.SIGKILL), c.AwaitWhole(ctx))
}

// SwitchOver asks Patroni to make a standby the primary, as an operator does.
func (c *Cluster) SwitchOver(ctx context.Context, struck Struck) error {
	old, _, err := c.primary(ctx)
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(asking, http.MethodPost, "http://"+old.api+"/switchover", strings.NewReader(fmt.Sprintf(`{"leader": %q}`, old.name)))
	if err != nil {
		return fmt.Errorf("switch over: %w", err)
	}
	struck(old.name, "")
	patient := http.Client{Transport: client.Transport} // Patroni answers after the switchover
	answer, err := patient.Do(request)
	if err != nil {
		return fmt.Errorf("switch over: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // the status is enough
		return fmt.Errorf("switch over: Patroni answers %s: %s", answer.Status, reason)
	}
	_, err = c.awaitPrimary(ctx, old.name)
	return errors.Join(err, c.AwaitWhole(ctx))
}

// FailBehind makes the primary fail while its standbys lag. It freezes the processes that send WAL
// to the standbys, calls the function work, and kills the primary. If the cluster is not
// synchronous, the new primary lacks the transactions that the function committed.
func (c *Cluster) FailBehind(ctx context.Context, work func() error) error {
	old, _, err := c.primary(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(old.stopSenders(), work(), old.kill())
	_, promoted := c.awaitPrimary(ctx, old.name)
	return errors.Join(err, promoted, old.patroni.Start(ctx), c.AwaitWhole(ctx))
}
