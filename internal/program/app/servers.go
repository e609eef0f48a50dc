package app

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/schema"
)

// Servers records the servers that a process has used. After a failover, the former primary may
// accept connections again. Commits that it acknowledges would be lost once it follows the new
// primary. The former primary's timeline is lower than one that this process has seen. The process
// therefore refuses the server, and pgx tries the next host of the URL.
type Servers struct {
	question string
	names    *hostNames // hosts of the database URLs

	mu       sync.Mutex
	timeline map[string]int64 // highest timeline of each system
}

// NewServers returns a Servers that has not recorded any server yet. The parameter name is the name
// of Hooklatch's schema.
func NewServers(name schema.Name) *Servers {
	return &Servers{
		question: name.OrDefault().SQL("SELECT system_id, timeline FROM hooklatch.this_server()"),
		names:    newHostNames(net.DefaultResolver.LookupHost),
		timeline: make(map[string]int64),
	}
}

// validate is used as pgconn.Config.ValidateConnect. It accepts a server that does not identify
// itself, for example before the first migration.
func (s *Servers) validate(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, s.question).ReadAll()
	if err != nil || len(results) != 1 || len(results[0].Rows) != 1 {
		return nil
	}
	row := results[0].Rows[0]
	timeline, err := strconv.ParseInt(string(row[1]), 10, 64)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest := s.timeline[string(row[0])]; timeline < newest {
		return fmt.Errorf("the server is on timeline %d, but this process has used timeline %d of the same system: the server was the primary before a failover", timeline, newest)
	}
	s.timeline[string(row[0])] = timeline
	return nil
}
