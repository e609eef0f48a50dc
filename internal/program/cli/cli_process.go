package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/logqueue"
)

// Process is the environment that commands use.
type Process struct {
	Name   string // as invoked: used in error lines, usage and hints
	Stdin  io.Reader
	Stdout io.Writer // for a command's result
	Stderr io.Writer // for everything else
	// outputs contains stdout and stderr if they can be queued. It is empty in tests.
	outputs  []*logqueue.Queue
	Env      config.LookupEnv
	terminal bool // true if stderr is a terminal, which gets progress and text logs
	// CellPatience is the maximum time that status and the lists wait for a cell.
	CellPatience time.Duration
	// AnswerTimeout is the time within which Postgres must answer for init to use it.
	AnswerTimeout time.Duration
	// AcceptTimeout is the gateway's accept_timeout in dev. If 0, the configured one applies. Only
	// tests set it.
	AcceptTimeout time.Duration
	// Reloads returns a channel that receives reload requests until ctx is done.
	Reloads func(ctx context.Context) <-chan struct{}
	// version is the version that the linker set, or "".
	version string
	// licenses are the licences of all software in the binary.
	licenses string

	started bool  // true if the arguments were correct and the command runs
	misuse  error // misuse found where no error can be returned
}

// ProgramName is the installed binary's name.
const ProgramName = "hooklatch"

// invocation returns the command that runs the program again: the binary's name, or the go run
// command if `go run` built a temporary binary.
func invocation(arg0 string) string {
	path := filepath.ToSlash(arg0)
	if strings.Contains(path, "/go-build") { // go run builds in temporary directories and in the build cache
		return "go run ./cmd/" + ProgramName
	}
	base := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".exe")
	if base == "" {
		return ProgramName
	}
	return base
}
