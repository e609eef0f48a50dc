// Package patroni runs a highly available Postgres as users do: three servers under Debian's
// Patroni, three members of etcd, and HAProxy, which finds the primary. It kills and freezes their
// processes.
package patroni

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/programs"
	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/schema/embedded"
)

const (
	size = 3 // servers, and etcd members
	// TTL is the time after which a primary without a running Patroni loses its role: the smallest
	// value that Patroni allows.
	TTL = 20 * time.Second
	// startTimeout bounds each wait for the cluster. An example is the start of a standby, which
	// first copies the primary, on a busy machine.
	startTimeout = 2 * time.Minute
	pollPause    = 100 * time.Millisecond
)

// Options configure a Cluster.
type Options struct {
	// Dir holds the servers, their configurations and their logs. Required.
	Dir string
	// Synchronous turns synchronous_mode and synchronous_mode_strict on: without a synchronous
	// standby no COMMIT gets a response, and only a synchronous standby takes over.
	Synchronous bool
	// History records the start and end of each process. Required.
	History *history.Writer
}

// Cluster is a running cluster of Postgres servers, with Patroni, etcd and HAProxy.
type Cluster struct {
	opts     Options
	install  embedded.Installation
	tools    tools
	password string
	proxy    string // address of HAProxy, host:port
	haproxy  *programs.Program
	etcd     []*programs.Program
	members  []*member
}

// Start starts the cluster and returns when it has a primary and two standbys.
func Start(ctx context.Context, opts Options) (_ *Cluster, err error) {
	c := &Cluster{opts: opts, password: rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start a cluster under Patroni: %w", err), c.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if c.install, err = embedded.Installed(ctx); err != nil {
		return nil, err
	}
	if c.tools, err = findTools(ctx); err != nil {
		return nil, err
	}
	//nolint:gosec // The servers' account must be able to pass through it.
	if err := errors.Join(os.MkdirAll(opts.Dir, 0o755), c.install.Take(opts.Dir)); err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	free, err := freeport.Addresses(1 + 2*size + 2*size)
	if err != nil {
		return nil, err
	}
	c.proxy, free = free[0], free[1:]
	clients, err := c.startEtcd(ctx, free[:size], free[size:2*size])
	if err != nil {
		return nil, err
	}
	for i := range size {
		m, err := c.newMember(i+1, free[2*size+i], free[3*size+i], clients)
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, m)
	}
	// The first member creates the database, and the others copy it.
	for i, m := range c.members {
		if err := m.patroni.Start(ctx); err != nil {
			return nil, err
		}
		if i == 0 {
			if _, err := c.awaitPrimary(ctx, ""); err != nil {
				return nil, err
			}
		}
	}
	if err := c.AwaitWhole(ctx); err != nil {
		return nil, err
	}
	if err := c.startHAProxy(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// program prepares a process of the cluster that runs as the account of the servers.
func (c *Cluster) program(name, binary string, args ...string) (*programs.Program, error) {
	o := programs.Options{
		Name: name, Build: "Debian", Binary: binary, Args: args, Env: c.tools.env, Log: filepath.Join(c.opts.Dir, name+".log"), History: c.opts.History,
	}
	if os.Geteuid() == 0 {
		o.Account = &syscall.Credential{Uid: uint32(c.install.UID), Gid: uint32(c.install.GID)} //nolint:gosec // ids in passwd have 32 bits
	}
	return programs.New(o)
}

// write writes a configuration that only the account of the servers can read: it contains
// passwords.
func (c *Cluster) write(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write a configuration: %w", err)
	}
	if err := c.install.Take(path); err != nil {
		return fmt.Errorf("write a configuration: %w", err)
	}
	return nil
}

// ThroughHAProxy returns the URL of a database through HAProxy, which connects to the primary.
func (c *Cluster) ThroughHAProxy(database string) string { return c.url(c.proxy, database, "") }

// Address returns the address of HAProxy, host:port.
func (c *Cluster) Address() string { return c.proxy }

// Hosts returns a URL for a database with the addresses of all servers, among which the client
// finds the primary.
func (c *Cluster) Hosts(database string) string {
	var hosts []string
	for _, m := range c.members {
		hosts = append(hosts, m.server)
	}
	return c.url(strings.Join(hosts, ","), database, "&target_session_attrs=read-write&connect_timeout=3")
}

func (c *Cluster) url(hosts, database, query string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable%s", embedded.Superuser, c.password, hosts, url.PathEscape(database), query)
}

// Stop kills all processes of the cluster.
func (c *Cluster) Stop(context.Context) error {
	var failed []error
	if c.haproxy != nil {
		failed = append(failed, c.haproxy.Kill())
	}
	for _, m := range c.members {
		failed = append(failed, m.kill())
	}
	for _, e := range c.etcd {
		failed = append(failed, e.Kill())
	}
	return errors.Join(failed...)
}
