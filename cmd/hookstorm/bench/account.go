package bench

import (
	"context"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/meter"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// account is the CPU time that the parts of a scene have used so far, and the position in the WAL.
type account struct {
	server   time.Duration // CPU time of all processes that accept events
	worker   time.Duration
	postgres time.Duration
	redis    time.Duration
	client   time.Duration
	wal      meter.Position
}

// account returns the CPU times that this process and the scene's processes, Postgres and Redis
// have used so far. If the scene has a Postgres, account also returns the WAL position.
func (s *scene) account(ctx context.Context) (account, error) {
	a := account{client: meter.Self()}
	for _, p := range s.processes {
		if p.role == roleWorker {
			a.worker += meter.CPU(p.PID())
		} else {
			a.server += meter.CPU(p.PID())
		}
	}
	if s.redis != nil {
		a.redis = meter.CPU(s.redis.PID())
	}
	if s.database.server == nil {
		return a, nil
	}
	a.postgres = meter.Server(s.database.server.postmaster, s.database.server.backend, int(s.watch.PgConn().PID()))
	var err error
	a.wal, err = meter.Now(ctx, s.watch)
	return a, err
}

// costsSince reports the costs since an earlier account, divided by n events.
func (s *scene) costsSince(ctx context.Context, section, who string, n int, before account) error {
	now, err := s.account(ctx)
	if err != nil {
		return err
	}
	return s.costs(ctx, section, who, n, before, now)
}

// costs reports the costs between two accounts, divided by n events.
func (s *scene) costs(ctx context.Context, section, who string, n int, before, now account) error {
	add := func(q report.Quantity, value float64) { s.bench.report.Add(section, who, q, value) }
	perEvent := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	if meter.Known() {
		add(report.CPUServer, perEvent(now.server-before.server))
		if now.worker > 0 {
			add(report.CPUWorker, perEvent(now.worker-before.worker))
		}
		if s.database.server != nil {
			add(report.CPUPostgres, perEvent(now.postgres-before.postgres))
		}
		if s.redis != nil {
			add(report.CPURedis, perEvent(now.redis-before.redis))
		}
		add(report.CPUClient, perEvent(now.client-before.client))
	}
	if s.database.server == nil {
		return nil
	}
	wal, err := meter.Between(ctx, s.watch, before.wal, now.wal)
	if err != nil {
		return err
	}
	add(report.WAL, float64(wal.Bytes)/float64(n))
	if wal.Images >= 0 {
		add(report.WALWithoutImages, float64(wal.Bytes-wal.Images)/float64(n))
	}
	return nil
}

// timings reports the rate and latencies of a run.
func (b *bench) timings(section, who string, run load.Run) {
	b.report.Add(section, who, report.Rate, run.Rate())
	b.latencies(section, who, run)
}

func (b *bench) latencies(section, who string, run load.Run) {
	b.report.Add(section, who, report.P50, milliseconds(run.Latency(0.5)))
	b.report.Add(section, who, report.P99, milliseconds(run.Latency(0.99)))
	if run.Repeated > 0 {
		b.report.Add(section, who, report.Repeated, float64(run.Repeated))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
