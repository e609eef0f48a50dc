package app

import (
	"fmt"
	"log/slog"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/admin"
)

const (
	// otherFiles is the number of descriptors that a process needs in addition to its connections:
	// for files, pipes, timers, name servers and the telemetry collector.
	otherFiles = 128
	// leastConnections is the number of open connections that boundConnections never goes below,
	// unless fewer are configured.
	leastConnections = 64
)

// boundConnections returns the maximum number of open connections to the gateway: the configured
// number, or fewer if the process cannot open enough files. Without this bound, clients could use
// up the descriptors for Postgres connections and the admin listener.
func (a *App) boundConnections(configured int) int {
	limit := openFilesLimit()
	others := admin.MaxConnections + otherFiles
	for _, one := range a.all() {
		others += one.pools.connections()
		if one.destinations == nil {
			continue
		}
		for _, d := range one.destinations.list {
			others += d.Concurrency
		}
	}
	if limit == 0 || configured+others <= limit {
		return configured
	}
	bounded := max(limit-others, min(leastConnections, configured))
	a.opts.Logger.Warn("the limit of open files is too low for gateway.max_connections: raise it (ulimit -n, LimitNOFILE)",
		slog.String(logkey.Reason, fmt.Sprintf("the limit is %d open files", limit)), slog.Int(logkey.Count, bounded))
	return bounded
}
