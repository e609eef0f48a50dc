// Package cluster runs Postgres servers, and stops, freezes or fills them on request: a primary
// and, optionally, a physical standby that can take over.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/schema/embedded"
)

// settleTimeout bounds the wait for a server to change its state.
const settleTimeout = 60 * time.Second

// Options configure the servers. The zero value requests a primary without a standby.
type Options struct {
	// Dir contains the servers' data. If empty, the servers use temporary directories, which Stop
	// deletes.
	Dir string
	// Standby gives the primary a physical standby, which Promote needs.
	Standby bool
	// Synchronous makes each COMMIT wait until the standby has the COMMIT's WAL on disk.
	// Synchronous needs Standby.
	Synchronous bool
	// Durable turns fsync on. Without it a COMMIT survives the death of every process but not a
	// power loss.
	Durable bool
	// SmallDisk gives each server a disk of this many bytes, for FillDisk: a tmpfs mounted below
	// Dir. Dir is then required. If mounting is not allowed, Start fails; see Privately. If
	// SmallDisk is 0, the servers share the disk of Dir.
	SmallDisk int64
	// Settings contains additional Postgres settings, such as wal_keep_size, by name.
	Settings map[string]string
	// OnPrimary, if not nil, is called with the address, host:port, of the first primary and of
	// each promoted server. A proxy can then connect to the new primary.
	OnPrimary func(address string)
	// Upstream converts the primary's address, host:port, to the address that the standby uses: a
	// proxy may be in between. Defaults to the same address.
	Upstream func(address string) string
	// Log receives the servers' logs. If nil, they are dropped.
	Log io.Writer
}

// Cluster is a running primary, with or without a standby.
type Cluster struct {
	opts Options

	acting sync.Mutex // held while servers are started or stopped
	made   int        // number of the newest server, as in its directory's name
	stop   bool

	mu      sync.Mutex
	primary *embedded.Server
	standby *embedded.Server // nil without a standby
}

// Start starts the servers and returns when replication works as requested.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	if opts.Synchronous && !opts.Standby {
		return nil, errors.New("start cluster: Synchronous needs Standby")
	}
	if opts.SmallDisk != 0 && opts.Dir == "" {
		return nil, errors.New("start cluster: SmallDisk needs Dir")
	}
	c := &Cluster{opts: opts}
	primary, err := c.startServer(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c.primary = primary
	if opts.Standby {
		if err := c.join(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("start cluster: %w", err), c.Stop(context.WithoutCancel(ctx)))
		}
	}
	if opts.OnPrimary != nil {
		opts.OnPrimary(c.Address())
	}
	return c, nil
}

// startServer starts another server, as a copy if backup is not nil.
func (c *Cluster) startServer(ctx context.Context, backup *embedded.Backup) (*embedded.Server, error) {
	settings := map[string]string{
		// After an automatic restart, the run might not notice that the server crashed.
		"restart_after_crash": "off",
		// A new standby needs all WAL since its backup began.
		"wal_keep_size":               "512MB",
		"wal_retrieve_retry_interval": "100ms",
	}
	maps.Copy(settings, c.opts.Settings)
	opts := embedded.Options{Durable: c.opts.Durable, Settings: settings, Log: c.opts.Log, Backup: backup}
	c.made++
	if c.opts.Dir == "" {
		return embedded.Start(ctx, opts)
	}
	opts.DataDir = filepath.Join(c.opts.Dir, fmt.Sprintf("server-%d", c.made))
	if err := c.smallDisk(opts.DataDir); err != nil {
		return nil, err
	}
	server, err := embedded.Start(ctx, opts)
	if err != nil {
		if c.opts.SmallDisk != 0 {
			err = errors.Join(err, unmount(opts.DataDir))
		}
		return nil, err
	}
	return server, nil
}

// release stops a server and unmounts its disk.
func (c *Cluster) release(ctx context.Context, server *embedded.Server) error {
	err := server.Stop(ctx)
	if c.opts.SmallDisk != 0 {
		err = errors.Join(err, unmount(rootOf(server)))
	}
	return err
}

// Primary returns the URL of a database on the current primary.
func (c *Cluster) Primary(database string) string { return c.server().URL(database) }

// Address returns the primary's address, host:port.
func (c *Cluster) Address() string {
	u, err := url.Parse(c.server().URL(""))
	if err != nil {
		panic(err) // never: url.URL formatted the URL
	}
	return u.Host
}

// Standby returns the URL of a database on the standby, or "" if the cluster has no standby.
func (c *Cluster) Standby(database string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standby == nil {
		return ""
	}
	return c.standby.URL(database)
}

func (c *Cluster) server() *embedded.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.primary
}

// Freeze suspends all processes of the primary. Connections stay open, but get no response.
func (c *Cluster) Freeze() error {
	if err := c.server().Pause(); err != nil {
		return fmt.Errorf("freeze primary: %w", err)
	}
	return nil
}

// Thaw resumes the processes that Freeze suspended.
func (c *Cluster) Thaw() error {
	if err := c.server().Resume(); err != nil {
		return fmt.Errorf("thaw primary: %w", err)
	}
	return nil
}

// FreezeStandby freezes the standby as Freeze freezes the primary. With Options.Synchronous, each
// COMMIT then waits until ThawStandby.
func (c *Cluster) FreezeStandby() error { return c.onStandby("freeze", (*embedded.Server).Pause) }

// ThawStandby resumes the processes that FreezeStandby suspended.
func (c *Cluster) ThawStandby() error { return c.onStandby("thaw", (*embedded.Server).Resume) }

func (c *Cluster) onStandby(name string, do func(*embedded.Server) error) error {
	c.mu.Lock()
	standby := c.standby
	c.mu.Unlock()
	if standby == nil {
		return fmt.Errorf("%s standby: there is none", name)
	}
	if err := do(standby); err != nil {
		return fmt.Errorf("%s standby: %w", name, err)
	}
	return nil
}

// Stop stops the servers. Further calls do nothing.
func (c *Cluster) Stop(ctx context.Context) error {
	c.acting.Lock()
	defer c.acting.Unlock()
	if c.stop {
		return nil
	}
	c.stop = true
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.standby != nil {
		c.standby.Kill() // the standby's last checkpoint is not needed
		err = c.release(ctx, c.standby)
	}
	return errors.Join(err, c.release(ctx, c.primary))
}
