// Package embedded runs a private Postgres server with this machine's binaries, for
// development and tests.
package embedded

import (
	"context"
	"io"
	"os"
)

// BinariesEnv is the environment variable that selects the Postgres binaries. "npm" selects the
// pinned npm package; any other value is the bin directory to use. If it is empty, Start searches
// PGBIN, PATH, the usual locations of packages from the newest version down, and npm, in this
// order.
const BinariesEnv = "HOOKLATCH_POSTGRES"

// Superuser is the superuser role of every server in this package. Its password is created
// once per cluster; Server.URL contains it.
const Superuser = "postgres"

// Options configure a server. The zero value configures a throw-away server on a free port, for
// tests.
type Options struct {
	// DataDir is the directory that keeps the cluster between starts. If it is empty, Stop removes
	// the cluster. After a crash, the next Start removes it.
	//
	// If the process runs as root, the server runs under another account. If that account cannot
	// access DataDir, the server uses a directory derived from DataDir, the same at every start: see
	// Server.DataDir.
	DataDir string

	// Port is the TCP port on 127.0.0.1. Default: a free port.
	Port int

	// Durable turns fsync and full_page_writes on. Without it a commit survives the death
	// of every process but not a power failure; synchronous_commit is on in both cases.
	Durable bool

	// Settings contains additional server settings. The additional settings override this package's
	// settings.
	Settings map[string]string

	// Log receives the server's log. Default: the log is dropped. If the server exits before it is
	// ready, the last lines of its log become part of the error.
	Log io.Writer

	// Version is the wanted major version, such as "18". Default: the version that created an existing
	// DataDir, the version of the server that Backup copies, or any from 15 on.
	Version string

	// Progress is called with a line of text before each long step, such as creating a cluster or
	// fetching binaries. It also receives the errors that occur when Start removes the remains of
	// killed processes. Default: the lines are dropped.
	Progress func(line string)

	// Prepare fills a fresh cluster, once. The result is cached under PrepareKey, and later servers
	// with this key begin with a copy of the result.
	Prepare    func(ctx context.Context, server *Server) error
	PrepareKey string

	// Backup, if not nil, makes a fresh cluster a copy of another server's cluster. Prepare is not
	// called then.
	Backup *Backup

	// OwnIdentity gives the cluster a unique system identifier: Start then runs initdb, which takes
	// a second. Otherwise, the cluster is a copy, and all copies have the same identifier. Prepare
	// is not called with OwnIdentity.
	OwnIdentity bool

	// orphan lets the server outlive a killed parent, to test how the next Start removes its
	// remains.
	orphan bool

	// sync writes a file or directory of a durable cluster to disk. Default: (*os.File).Sync.
	sync func(*os.File) error
}

func (o Options) progress(line string) {
	if o.Progress != nil {
		o.Progress(line)
	}
}
