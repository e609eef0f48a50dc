package planted

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bugs"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/stage"
)

// slow is a slow receiver's response time. It is below the destinations' timeout of 1 s.
const slow = 700 * time.Millisecond

// scene is the setting of a schedule: a database, the processes on it, and the receivers that
// they call.
type scene struct {
	*stage.Stage

	hunt      *Hunt
	bug       bugs.Bug
	receivers *receivers.Receivers
	server    *cluster.Cluster
	url       string
	pool      *pgxpool.Pool
	proxy     *stage.Line         // nil until a step needs it
	processes map[string]*process // by command and number, as in gateway-1; the command alone is the key of the last process with that command
	launched  int
	deployed  scenario.Deployment // the configuration of the next process
	redis     string              // URL of a Redis that the next processes share, if any

	mu     sync.Mutex
	calls  []history.Record // beginnings and ends of calls to receivers
	events map[string]event // by source and id
}

func (h *Hunt) newScene(ctx context.Context, c Case, bug bugs.Bug, dir string) (_ *scene, err error) {
	s := &scene{hunt: h, bug: bug, server: h.server, processes: map[string]*process{}, events: map[string]event{}}
	if s.Stage, err = stage.New(stage.Options{Who: "planted", Dir: dir, Watch: s.watch}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}()
	run := history.Run{Command: "hookstorm torture --planted " + string(c.Bug), Settings: "planted: " + string(bug)}
	s.History.Add(history.Record{Who: "planted", Kind: history.Note, Op: history.OpRun, Text: c.Schedule, Run: &run})
	if c.settings != nil {
		if s.server, err = startServer(ctx, c.settings); err != nil {
			return nil, err
		}
		s.OnStop("Postgres", s.server.Stop)
	}
	if s.url, err = h.database(ctx, s.server); err != nil {
		return nil, err
	}
	config, err := stage.Config(s.url)
	if err != nil {
		return nil, err
	}
	if s.pool, err = s.Connect(ctx, config); err != nil {
		return nil, err
	}
	s.receivers, err = s.Receive(ctx, receivers.Options{Slow: slow})
	return s, err
}

// watch records the calls that receivers saw.
func (s *scene) watch(r history.Record) {
	if r.Op != history.OpCall {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r)
}

// called counts the calls to a destination that have begun or, if ended is true, those that have
// ended.
func (s *scene) called(destination string, ended bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.calls {
		if r.Call.Destination == destination && (r.Kind != history.Invoke) == ended {
			n++
		}
	}
	return n
}

// verdict stops the run and judges its history.
func (s *scene) verdict(ctx context.Context) (checker.Verdict, error) {
	killed := s.Kill()
	s.receivers.Stop() // ends all calls, so that the history is complete
	verdict, err := s.Judge(ctx, s.pool, checker.Options{MinAcked: 1})
	return verdict, errors.Join(killed, err, s.Stop(context.WithoutCancel(ctx)))
}
