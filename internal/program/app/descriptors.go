package app

import (
	"fmt"
	"log/slog"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/admin"
)

const (
	// otherFiles is how many descriptors a process needs beside its connections: files,
	// pipes, timers, name servers and the collector of telemetry.
	otherFiles = 128
	// leastConnections is how many connections a gateway has open in any case.
	leastConnections = 64
)

// boundConnections returns how many connections the gateway may have open: as many as it
// is configured to, unless the process may have too few files open for that and for all
// else. Strangers could take the descriptors of Postgres and of the admin listener
// otherwise.
func (a *App) boundConnections(configured int) int {
	limit := openFilesLimit()
	others := admin.MaxConnections + a.pools.connections() + otherFiles
	if a.opts.Worker {
		for _, d := range a.destinations.list {
			others += d.Concurrency
		}
	}
	if limit == 0 || configured+others <= limit {
		return configured
	}
	bounded := max(limit-others, min(leastConnections, configured))
	a.opts.Logger.Warn("the process may have too few files open for gateway.max_connections: raise the limit of open files (ulimit -n, LimitNOFILE)",
		slog.String(logkey.Reason, fmt.Sprintf("%d files may be open", limit)), slog.Int(logkey.Count, bounded))
	return bounded
}
