// Package embedded runs a private Postgres server from binaries of this machine, for
// development and tests.
package embedded

import (
	"context"
	"io"
)

// BinariesEnv is the environment variable that selects the Postgres binaries: empty to
// search for them (PGBIN, PATH, the usual places of packages from the newest version
// down, then npm), "npm" for the pinned npm package, or the bin directory to use.
const BinariesEnv = "HOOKLATCH_POSTGRES"

// Superuser is the superuser role of every server of this package. Its password is made
// once per cluster; Server.URL contains it.
const Superuser = "postgres"

// Options configure a server. The zero value is a throw-away server for tests on a free
// port.
type Options struct {
	// DataDir keeps the cluster between starts. If it is empty, the server is removed by
	// Stop, or by the next Start after a crash. Under root, the account that runs the
	// server must be able to reach it. If it cannot, a stable directory derived from it
	// is used instead: see Server.DataDir.
	DataDir string

	// Port is the TCP port on 127.0.0.1. Default: a free one.
	Port int

	// Durable turns fsync and full_page_writes on. Without it a commit survives the death
	// of every process but not a power failure; synchronous_commit is on in both cases.
	Durable bool

	// Settings are further server settings. They override those of this package.
	Settings map[string]string

	// Log receives the server's log. Default: dropped, except for its end, which becomes
	// part of the error if the server dies.
	Log io.Writer

	// Version is the wanted major version, such as "18". Default: any from 15 on, or the
	// one that made an existing DataDir.
	Version string

	// Progress is called with a line of text before a step that takes long: making a
	// cluster, fetching binaries. Default: nothing.
	Progress func(line string)

	// Prepare fills a fresh cluster, once: the result is cached under PrepareKey, and
	// later servers with this key begin with a copy of it.
	Prepare    func(ctx context.Context, server *Server) error
	PrepareKey string

	// Backup fills a fresh cluster with a copy of another server's, instead of an empty
	// one. Prepare is not called then.
	Backup *Backup

	// OwnIdentity makes a new cluster, which takes a second, with a system identifier of
	// its own. Otherwise it is a copy, and all copies have the same identifier.
	OwnIdentity bool

	// orphan lets the server outlive a killed parent, to produce the crash that the sweep
	// is for.
	orphan bool
}

func (o Options) progress(line string) {
	if o.Progress != nil {
		o.Progress(line)
	}
}
