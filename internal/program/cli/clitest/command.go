package clitest

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
)

// SyncBuffer is a buffer that is safe for concurrent use.
type SyncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (s *SyncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String returns everything that was written.
func (s *SyncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Command is one call of the program.
type Command struct {
	Env    map[string]string
	Stdin  string
	Stdout SyncBuffer
	Stderr SyncBuffer
	Name   string
}

// Run runs the command and returns the exit code.
func (c *Command) Run(ctx context.Context, args ...string) int {
	name := c.Name
	if name == "" {
		name = TestName
	}
	return cli.Execute(ctx, &cli.Process{
		Name: name, Stdin: strings.NewReader(c.Stdin), Stdout: &c.Stdout, Stderr: &c.Stderr,
		Env: func(variable string) (string, bool) {
			value, ok := c.Env[variable]
			return value, ok
		},
		CellPatience:  Patience,
		AnswerTimeout: Patience,
		AcceptTimeout: Patience, // a busy machine must not cause a 503
		Reloads:       func(context.Context) <-chan struct{} { return nil },
	}, args)
}

// Must runs a command that must succeed, and returns its output.
func Must(t *testing.T, args ...string) string {
	t.Helper()
	var c Command
	require.Zero(t, c.Run(t.Context(), args...), "%s\n%s%s", strings.Join(args, " "), c.Stdout.String(), c.Stderr.String())
	return c.Stdout.String()
}

// RequireMisused requires that a command line is refused as a mistake, with exit code 2.
func RequireMisused(t *testing.T, args ...string) {
	t.Helper()
	var c Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), args...), c.Stderr.String())
	require.Empty(t, c.Stdout.String())
	require.Contains(t, c.Stderr.String(), "hooklatch: ")
	require.Contains(t, c.Stderr.String(), "--help' for usage.")
}
