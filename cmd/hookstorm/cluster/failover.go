package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/schema/embedded"
)

// Ending is the way to stop a server.
type Ending string

// Values of Ending.
const (
	// Fast rolls back open transactions and writes a checkpoint.
	Fast Ending = "fast"
	// Immediate stops the server without a checkpoint, as a crash does.
	Immediate Ending = "immediate"
	// Killed sends SIGKILL to all processes of the server simultaneously.
	Killed Ending = "killed"
	// Frozen keeps the server's connections open without responses. Only Promote supports it: the
	// standby takes over from a server that is still alive.
	Frozen Ending = "frozen"
)

var errStopped = errors.New("the cluster was stopped")

// Restart stops the primary and starts it again, on the same port and data.
func (c *Cluster) Restart(ctx context.Context, ending Ending) error {
	c.acting.Lock()
	defer c.acting.Unlock()
	if c.stop {
		return fmt.Errorf("restart primary: %w", errStopped)
	}
	if ending == Frozen {
		return errors.New("restart primary: the ending frozen is only for Promote")
	}
	if err := end(ctx, c.server(), ending); err != nil {
		return fmt.Errorf("restart primary: %w", err)
	}
	if err := c.server().Restart(ctx); err != nil { // a fast restart if the server is still running
		return fmt.Errorf("restart primary: %w", err)
	}
	return nil
}

// end stops a server in the given way, or freezes it. For Fast, end does nothing, because the
// Restart that follows performs a fast shutdown anyway.
func end(ctx context.Context, server *embedded.Server, ending Ending) error {
	switch ending {
	case Fast:
		return nil
	case Immediate:
		ctx, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		return server.Abort(ctx)
	case Killed:
		server.Kill()
		return nil
	case Frozen:
		return server.Pause()
	default:
		return fmt.Errorf("unknown ending %q", ending)
	}
}

// Promote stops or freezes the primary, promotes the standby, and returns when the new primary has
// a standby. Until then the COMMITs of the new primary do not wait for a standby.
func (c *Cluster) Promote(ctx context.Context, ending Ending) error {
	c.acting.Lock()
	defer c.acting.Unlock()
	if err := c.promote(ctx, ending); err != nil {
		return fmt.Errorf("promote standby: %w", err)
	}
	return nil
}

func (c *Cluster) promote(ctx context.Context, ending Ending) error {
	c.mu.Lock()
	old, heir := c.primary, c.standby
	c.mu.Unlock()
	switch {
	case c.stop:
		return errStopped
	case heir == nil:
		return errors.New("there is none")
	}
	_ = heir.Resume() // a frozen standby cannot be promoted
	if ending == Fast {
		// The old primary stops once the standby has all WAL, as in a planned switchover.
		if err := c.discard(ctx, old, false); err != nil {
			return err
		}
	} else if err := end(ctx, old, ending); err != nil {
		return err
	}
	if err := withConn(ctx, heir, takeOver); err != nil {
		return err
	}
	c.mu.Lock()
	c.primary, c.standby = heir, nil
	c.mu.Unlock()
	if c.opts.OnPrimary != nil {
		c.opts.OnPrimary(c.Address())
	}
	if ending != Fast {
		if err := c.discard(ctx, old, true); err != nil {
			return err
		}
	}
	return c.join(ctx)
}

// discard stops a server, with SIGKILL if hard is true, and removes its data. Data that only this
// server had is lost, as if its machine were lost.
func (c *Cluster) discard(ctx context.Context, server *embedded.Server, hard bool) error {
	if hard {
		server.Kill()
	}
	return errors.Join(c.release(ctx, server), os.RemoveAll(rootOf(server)))
}

// takeOver makes a standby accept writes.
func takeOver(ctx context.Context, conn *pgx.Conn) error {
	var promoted bool
	if err := conn.QueryRow(ctx, "SELECT pg_promote(true, $1)", int(settleTimeout.Seconds())).Scan(&promoted); err != nil {
		return err
	}
	if !promoted {
		return errors.New("it is still a standby")
	}
	return nil
}
