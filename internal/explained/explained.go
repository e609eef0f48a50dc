// Package explained records the plans of a test's statements, and the number of pages that each
// statement read.
//
// The statements of triggers are included. The plans come from Postgres's module auto_explain,
// which some builds lack: see [Available]. The plans arrive as notices. A test takes the plans
// after each step:
//
//	log := explained.Watch(config) // before pgxpool.NewWithConfig
//	...
//	ran, err := log.Take()
//	for _, s := range ran {
//		fmt.Println(s.Buffers, s.Text)
//	}
package explained

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Statement is an SQL statement that a connection ran.
type Statement struct {
	Text string // in the form that Postgres received
	Plan string // JSON, for display
	// Buffers is the number of pages that the statement read, from memory or disk. Statements of
	// its triggers are counted separately.
	Buffers int
	// Took is the time that Postgres spent on the statement.
	Took time.Duration
	// JIT is true if Postgres compiled parts of the statement.
	JIT bool
}

// Log holds the statements that a pool's connections ran. It is safe for concurrent use.
type Log struct {
	mu  sync.Mutex
	ran []Statement
	err error
}

// Available reports whether the pool's server has auto_explain.
func Available(ctx context.Context, pool *pgxpool.Pool) bool {
	_, err := pool.Exec(ctx, `LOAD 'auto_explain'`)
	return err == nil
}

// Watch makes a pool's connections report their plans. The pool's user must be a superuser.
func Watch(config *pgxpool.Config) *Log { return watch(config, "on") }

// WatchTimes does the same as Watch, but the plans contain no actual counts of rows and pages, and
// Buffers is 0. Counting makes a statement that reads many rows about a third slower.
func WatchTimes(config *pgxpool.Config) *Log { return watch(config, "off") }

func watch(config *pgxpool.Config, analyze string) *Log {
	maps.Copy(config.ConnConfig.RuntimeParams, map[string]string{
		"session_preload_libraries":          "auto_explain",
		"auto_explain.log_min_duration":      "0",
		"auto_explain.log_analyze":           analyze,
		"auto_explain.log_buffers":           "on",
		"auto_explain.log_timing":            "off",
		"auto_explain.log_nested_statements": "on",
		"auto_explain.log_format":            "json",
		"auto_explain.log_level":             "notice",
	})
	log := new(Log)
	before := config.ConnConfig.OnNotice
	config.ConnConfig.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		log.note(notice.Message)
		if before != nil {
			before(conn, notice)
		}
	}
	return log
}

// Take returns the statements that ran since the last call, in the order in which they finished. It
// returns an error if a plan could not be read.
func (l *Log) Take() ([]Statement, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ran, err := l.ran, l.err
	l.ran, l.err = nil, nil
	return ran, err
}

func (l *Log) note(message string) {
	head, plan, found := strings.Cut(message, "plan:\n")
	if !found {
		return
	}
	var took float64 // an unknown duration stays 0
	_, _ = fmt.Sscanf(head, "duration: %f ms", &took)
	var told struct {
		Text string `json:"Query Text"` //nolint:tagliatelle // Postgres' name
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`  //nolint:tagliatelle // Postgres' name
			Read int `json:"Shared Read Blocks"` //nolint:tagliatelle // Postgres' name
		}
		JIT *struct{} `json:"JIT"` //nolint:tagliatelle // Postgres' name
	}
	err := json.Unmarshal([]byte(plan), &told)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.err = err
		return
	}
	l.ran = append(l.ran, Statement{Text: told.Text, Plan: plan, Buffers: told.Plan.Hit + told.Plan.Read, Took: time.Duration(took * float64(time.Millisecond)), JIT: told.JIT != nil})
}
