package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/logqueue"
)

// process holds what commands use of their environment.
type process struct {
	name   string // as invoked: used in error lines, usage and hints
	stdin  io.Reader
	stdout io.Writer // the result of a command
	stderr io.Writer // everything else
	// outputs are stdout and stderr if they can be queued. Empty in tests.
	outputs  []*logqueue.Queue
	env      config.LookupEnv
	terminal bool // stderr is a terminal: it gets progress and text logs
	// reloads returns a channel of requests to reload the configuration, until ctx is done.
	reloads func(ctx context.Context) <-chan struct{}

	started bool  // the arguments were correct and the command runs
	misuse  error // set where no error can be returned
}

// programName is the name of the installed binary.
const programName = "hooklatch"

// invocation returns the command that started the program: the name of the binary, or the
// go command if `go run` built it, since that binary cannot be run again.
func invocation(arg0 string) string {
	path := filepath.ToSlash(arg0)
	if strings.Contains(path, "/go-build") { // its temporary directories and its cache
		return "go run ./cmd/" + programName
	}
	base := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".exe")
	if base == "" {
		return programName
	}
	return base
}
