package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/sqlstate"
	"github.com/hooklatch/hooklatch/schema"
)

const (
	begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	// hurry lets a statement of the transaction wait for a lock only briefly. On a server that
	// ignores lock_timeout, statement_timeout ends the statement.
	hurry = "SELECT set_config('lock_timeout', '200', true), set_config('statement_timeout', '5000', true)"
	// pause is usually long enough for a statement to reach the server.
	pause = 100 * time.Millisecond
)

// trial is one experiment. Its methods, and the methods of its sessions, end the experiment with
// a panic of type failure if the server did something unexpected. An experiment can therefore be
// written as a list of steps.
type trial struct {
	ctx    context.Context
	pool   *pgxpool.Pool
	schema schema.Name

	sessions []*session
	waiting  sync.WaitGroup
}

// failure describes a server's behaviour that differs from the expected behaviour.
type failure struct{ err error }

// run runs the experiment, then closes the sessions.
func (t *trial) run(patience time.Duration, try func(*trial)) (failed error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	t.ctx = ctx
	defer func() {
		if panicked := recover(); panicked != nil {
			f, known := panicked.(failure)
			if !known {
				panic(panicked)
			}
			failed = f.err
		}
		cancel()
		t.waiting.Wait()
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer done()
		for _, s := range t.sessions {
			_ = s.Close(closing) // the result of the experiment does not depend on the close
		}
	}()
	try(t)
	return nil
}

// require ends the experiment if err is not nil.
func (t *trial) require(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// expect ends the experiment if got differs from wanted.
func expect[T comparable](t *trial, what string, got, wanted T) {
	if got != wanted {
		t.require(fmt.Errorf("%s: %v instead of %v", what, got, wanted))
	}
}

// pause waits until a statement of another session has probably reached the server.
func (t *trial) pause() {
	select {
	case <-time.After(pause):
	case <-t.ctx.Done():
	}
}

// session is a connection of the experiment. Its SQL is written for the schema hooklatch.
type session struct {
	*pgx.Conn

	t *trial
}

// open opens a session and runs statements in it.
func (t *trial) open(statements ...string) *session {
	conn, err := pgx.ConnectConfig(t.ctx, t.pool.Config().ConnConfig)
	t.require(err)
	s := &session{Conn: conn, t: t}
	t.sessions = append(t.sessions, s)
	s.run(statements...)
	return s
}

// exec executes a statement that may fail.
func (s *session) exec(sql string, args ...any) error {
	_, err := s.Exec(s.t.ctx, s.t.schema.SQL(sql), args...)
	return err
}

// run executes statements that must succeed.
func (s *session) run(statements ...string) {
	for _, sql := range statements {
		s.t.require(s.exec(sql))
	}
}

// refused executes a statement that must fail with the code.
func (s *session) refused(code, sql string, args ...any) {
	switch err := s.exec(sql, args...); {
	case err == nil:
		s.t.require(fmt.Errorf("did not fail: %s", sql))
	case !sqlstate.Is(err, code):
		s.t.require(fmt.Errorf("failed with an error other than %s: %w", code, err))
	}
}

// waits executes a statement that must wait for a lock of another session.
func (s *session) waits(sql string, args ...any) {
	s.run(begin, hurry)
	s.refused(sqlstate.LockNotAvailable, sql, args...)
	s.run("ROLLBACK")
}

// try returns the one value of a statement, or pgx.ErrNoRows.
func try[T any](s *session, sql string, args ...any) (v T, err error) {
	err = s.QueryRow(s.t.ctx, s.t.schema.SQL(sql), args...).Scan(&v)
	return v, err
}

// value returns the one value of a statement that must succeed.
func value[T any](s *session, sql string, args ...any) T {
	v, err := try[T](s, sql, args...)
	s.t.require(err)
	return v
}

// later starts a statement that waits for another session. The returned function waits until the
// statement ends, and returns its error.
func (s *session) later(sql string, args ...any) (wait func() error) {
	var err error
	done := make(chan struct{})
	s.t.waiting.Go(func() {
		defer close(done)
		_, err = try[string](s, sql, args...)
	})
	s.t.pause()
	return func() error {
		<-done
		return err
	}
}
