package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/logqueue"
)

// process is what the commands see of the world around them.
type process struct {
	name   string // as invoked: begins error lines, usage and hints
	stdin  io.Reader
	stdout io.Writer // what a command was asked for
	stderr io.Writer // everything said beside it
	// outputs are stdout and stderr where they can be queued. Empty in tests.
	outputs  []*logqueue.Queue
	env      config.LookupEnv
	terminal bool // stderr is one: progress and text logs are welcome
	// reloads asks for the configuration to be read again, until ctx is done.
	reloads func(ctx context.Context) <-chan struct{}

	started bool  // the arguments were fine and the command runs
	misuse  error // found where no error can be returned
}

// programName is that of the installed binary.
const programName = "hooklatch"

// invocation is the name the program was started by: that of the binary or, for
// one that `go run` built, the go command, since the other cannot be repeated.
func invocation(arg0 string) string {
	path := filepath.ToSlash(arg0)
	if strings.Contains(path, "/go-build") { // its temporary directories, and its cache
		return "go run ./cmd/" + programName
	}
	base := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".exe")
	if base == "" {
		return programName
	}
	return base
}
