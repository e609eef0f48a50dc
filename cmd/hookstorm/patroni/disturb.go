package patroni

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/retry"
)

//go:embed query/cancel_waiting.sql
var cancelWaitingSQL string

// standby returns a synchronous standby or, if synchronous is false, one that is not synchronous.
func (c *Cluster) standby(ctx context.Context, synchronous bool) (*member, error) {
	in, others, err := c.inRole(ctx, roleSynchronous)
	if err != nil {
		return nil, err
	}
	if synchronous && len(in) > 0 {
		return in[0], nil
	}
	primary, _, err := c.primary(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range others {
		if m != primary && !synchronous {
			return m, nil
		}
	}
	return nil, errors.New("the cluster has no such standby now")
}

// KillStandby kills a standby with its Patroni, and brings it back after a while.
func (c *Cluster) KillStandby(ctx context.Context, synchronous bool, away time.Duration, struck Struck) error {
	m, err := c.standby(ctx, synchronous)
	if err != nil {
		return err
	}
	struck(m.name, away.String())
	err = m.kill()
	_ = retry.Wait(ctx, away) // the standby comes back even if ctx ends
	ctx = context.WithoutCancel(ctx)
	return errors.Join(err, m.patroni.Start(ctx), c.AwaitWhole(ctx))
}

// FreezeStandby suspends a standby with its Patroni for a while. While the synchronous standby is
// frozen, no COMMIT gets a response.
func (c *Cluster) FreezeStandby(ctx context.Context, synchronous bool, away time.Duration, struck Struck) error {
	m, err := c.standby(ctx, synchronous)
	if err != nil {
		return err
	}
	struck(m.name, away.String())
	err = m.freeze()
	_ = retry.Wait(ctx, away) // the standby comes back even if ctx ends
	return errors.Join(err, m.thaw(), c.AwaitWhole(context.WithoutCancel(ctx)))
}

// FreezeEtcd suspends members of etcd for a while. Without a majority, Patroni cannot renew the
// role of the primary, and demotes the primary.
func (c *Cluster) FreezeEtcd(ctx context.Context, first, count int, away time.Duration, struck Struck) error {
	struck(fmt.Sprintf("%d of %d etcd", count, len(c.etcd)), away.String())
	var failed []error
	for i := range count {
		failed = append(failed, c.etcd[(first+i)%len(c.etcd)].Pause())
	}
	_ = retry.Wait(ctx, away) // the members come back even if ctx ends
	for i := range count {
		failed = append(failed, c.etcd[(first+i)%len(c.etcd)].Continue())
	}
	return errors.Join(append(failed, c.AwaitWhole(context.WithoutCancel(ctx)))...)
}

// CancelWaiting freezes the Postgres of the synchronous standby for a while, and cancels the wait
// of every session for this standby. The server then reports success for a COMMIT that no standby
// has. CancelWaiting may run at the same time as other faults. It does nothing while the cluster
// has no primary or no synchronous standby.
func (c *Cluster) CancelWaiting(ctx context.Context, away time.Duration, struck Struck) error {
	primary, _, err := c.primary(ctx)
	if err != nil {
		return nil //nolint:nilerr // a failover is in progress
	}
	m, err := c.standby(ctx, true)
	if err != nil {
		return nil //nolint:nilerr // a failover is in progress
	}
	err = m.signal(syscall.SIGSTOP)
	for ended := time.Now().Add(away); time.Now().Before(ended) && err == nil; {
		var cancelled int
		// A primary that has failed meanwhile is not queried again.
		if query(ctx, c.url(primary.server, "postgres", ""), func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, cancelWaitingSQL).Scan(&cancelled)
		}) != nil {
			break
		}
		if cancelled > 0 {
			struck(primary.name, fmt.Sprintf("%d sessions", cancelled))
		}
		_ = retry.Wait(ctx, pollPause) // the standby continues even if ctx ends
	}
	return errors.Join(err, m.signal(syscall.SIGCONT))
}
