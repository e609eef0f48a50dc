package planted

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/.tools/mutants/mutant"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/receivers"
	"github.com/hooklatch/hooklatch/internal/retry"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

//go:embed query/*.sql
var queries embed.FS

const (
	// quietTimeout bounds the wait for the end of all work. On a busy machine a job that an old
	// process leaves to a new one may wait a minute for its next try.
	quietTimeout = 3 * time.Minute
	// still is the time without any job after which the work counts as finished. A single look is
	// not enough, because a job that ends may insert the next one.
	still = 300 * time.Millisecond
)

// step is a part of a schedule.
type step func(ctx context.Context, s *scene) error

// steps is a schedule: its steps in order.
type steps []step

// play runs the steps one after another.
func (all steps) play(ctx context.Context, s *scene) error {
	for i, do := range all {
		if err := do(ctx, s); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// query returns the statement in query/<name>.sql.
func query(name string) string {
	text, err := queries.ReadFile("query/" + name + ".sql")
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(text)
}

// until calls the function happened until it returns true. The parameter what describes the
// condition for errors.
func until(ctx context.Context, what string, happened func() (bool, error)) error {
	for range (retry.Pauses{First: 2 * time.Millisecond, Max: 20 * time.Millisecond}).Until(ctx) {
		yes, err := happened()
		if err != nil {
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		if yes {
			return nil
		}
	}
	return fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
}

// sees returns a step that waits until a query returns a row.
func sees(what, query string, args ...any) step {
	return func(ctx context.Context, s *scene) error {
		return until(ctx, what, func() (bool, error) { return s.holds(ctx, query, args...) })
	}
}

// holds reports whether a query returns a row.
func (s *scene) holds(ctx context.Context, query string, args ...any) (yes bool, err error) {
	err = s.pool.QueryRow(ctx, "SELECT EXISTS ("+query+")", args...).Scan(&yes)
	return yes, err
}

// fires returns a step that waits until a failpoint of a process has fired.
func fires(name, place string) step {
	return func(ctx context.Context, s *scene) error { return appears(ctx, s.processes[name].fired, place+" ", 1) }
}

// passes returns a step that waits until a process has passed a failpoint the given number of
// times.
func passes(name, place string, times int) step {
	return func(ctx context.Context, s *scene) error {
		return appears(ctx, s.processes[name].passed, place+"\n", times)
	}
}

// passages returns how often a process has passed a failpoint.
func passages(p *process, place string) (int, error) { return occurrences(p.passed, place+"\n") }

// appears waits until a file contains a text at least the given number of times.
func appears(ctx context.Context, path, text string, times int) error {
	return until(ctx, fmt.Sprintf("%q occurs %d times in %s", text, times, path), func() (bool, error) {
		n, err := occurrences(path, text)
		return n >= times, err
	})
}

// occurrences returns how often a file contains a text. A file that does not exist contains
// nothing.
func occurrences(path, text string) (int, error) {
	said, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return strings.Count(string(said), text), err
}

// isCalled returns a step that waits until a destination has received the given number of calls. If
// ended is true, the step waits until that number of calls has ended.
func isCalled(destination string, times int, ended bool) step {
	return func(ctx context.Context, s *scene) error {
		return until(ctx, fmt.Sprintf("%s is called %d times", destination, times), func() (bool, error) {
			return s.called(destination, ended) >= times, nil
		})
	}
}

// behave returns a step that sets a receiver's behaviour for later calls.
func behave(destination string, b receivers.Behaviour) step {
	return func(_ context.Context, s *scene) error { s.receivers.Behave(destination, b); return nil }
}

// wait returns a step that waits for the given duration.
func wait(d time.Duration) step {
	return func(ctx context.Context, _ *scene) error { return retry.Wait(ctx, d) }
}

// quiet waits until no job is left, even if some work is unfinished. The reconciler would insert
// the missing jobs, but it runs only after a minute, which is too late. After quietTimeout, quiet
// returns nil, and the checker reports the remaining work.
func (s *scene) quiet(ctx context.Context) error {
	s.Phase(history.PhaseQuiet)
	ctx, cancel := context.WithTimeout(ctx, quietTimeout)
	defer cancel()
	last := time.Now() // when a job was last seen
	err := until(ctx, "nothing is left to do", func() (bool, error) {
		var jobs, unfinished int
		if err := s.pool.QueryRow(ctx, query("left")).Scan(&jobs, &unfinished); err != nil {
			return false, err
		}
		if jobs == 0 {
			return time.Since(last) > still, nil
		}
		last = time.Now()
		if unfinished == 0 {
			_, err := s.pool.Exec(ctx, query("bring_forward"))
			return false, err
		}
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // the checker reports the remaining work
	}
	return err
}

// copyJobs returns a step that waits for a running or scheduled job of the kind, and copies all
// such jobs for idle workers. If destination is empty, jobs of all destinations are copied.
func copyJobs(kind, destination string) step {
	return func(ctx context.Context, s *scene) error {
		return until(ctx, "a job of "+kind+" runs", func() (bool, error) {
			var n int
			err := s.pool.QueryRow(ctx, query("copy_jobs"), kind, destination).Scan(&n)
			return n > 0, err
		})
	}
}

// changes returns a step that executes a statement.
func changes(statement string) step {
	return func(ctx context.Context, s *scene) error {
		if _, err := s.pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	}
}

// crashServer stops Postgres without a checkpoint, and starts it again.
func crashServer(ctx context.Context, s *scene) error {
	if err := s.server.Restart(ctx, cluster.Immediate); err != nil {
		return fmt.Errorf("crash the server: %w", err)
	}
	s.pool.Reset()
	return nil
}

// person is the operator who requests the operator actions of schedules.
var person = ledger.Operator{Who: "hookstorm", Via: "api", Reason: "the schedule"}

// order performs an operator action and records the result. If the action fails, order records an
// unknown result and returns nil.
func (s *scene) order(told history.Order, do func(o *outbox.Outbox) error) error {
	box, err := outbox.New(outbox.Options{Pool: s.pool})
	if err != nil {
		return err
	}
	begun := told
	operation := s.History.Begin(history.Record{Who: "operator", Op: history.OpOrder, Order: &begun})
	if err := do(box); err != nil {
		operation.End(history.Unknown, err.Error(), nil)
		return nil
	}
	told.Affected = 1
	operation.End(history.OK, "", func(r *history.Record) { r.Order = &told })
	return nil
}

// pause returns a step that pauses or resumes a destination.
func pause(destination string, paused bool) step {
	action := "resume"
	if paused {
		action = "pause"
	}
	return func(ctx context.Context, s *scene) error {
		return s.order(history.Order{Action: action, Destination: destination}, func(o *outbox.Outbox) error {
			var err error
			for range (retry.Pauses{First: time.Second, Tries: 5}).Until(ctx) { // a busy machine may exceed a statement's limit
				if err = o.Fleet().SetPaused(ctx, destination, paused, person); err == nil {
					break
				}
			}
			return err
		})
	}
}

// replay returns a step that replays an event with a command of the hooklatch that has the bug.
func replay(by, source, id string) step {
	return func(ctx context.Context, s *scene) error {
		return s.order(history.Order{Action: "replay", Source: source, EventID: id}, func(*outbox.Outbox) error {
			return command(by, "events", "replay", "--as", person.Who, "--reason", person.Reason, source, id)(ctx, s)
		})
	}
}

// command returns a step that runs a command of the hooklatch that has the bug, with the
// configuration of a process.
func command(by string, args ...string) step {
	return func(ctx context.Context, s *scene) error {
		cmd := exec.CommandContext(ctx, s.hunt.opts.Hooklatch, append(slices.Clone(args), "--config", s.processes[by].config)...)
		cmd.Env = []string{"HOME=" + os.Getenv("HOME"), mutant.Environment + "=" + string(s.bug)}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
}
