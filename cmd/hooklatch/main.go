// Command hooklatch takes webhooks once, stores them in Postgres before it
// answers, and makes their effects happen.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/grpclog"

	"github.com/hooklatch/hooklatch/internal/program/logqueue"
)

// How long the end of the process waits for the readers of stdout and stderr, and how
// long a second signal lets it wait.
const (
	flushTimeout = time.Second
	flushAtOnce  = 200 * time.Millisecond
)

func main() { os.Exit(run()) }

// run is main with an exit code. Only here are signals known: the first one
// drains, the second one ends the process at once.
func run() int {
	name := invocation(os.Args[0])
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stdout := logqueue.New(logqueue.Options{Out: os.Stdout, Name: "stdout"})
	stderr := logqueue.New(logqueue.Options{Out: os.Stderr, Name: "stderr"})
	flush := func(within time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		stderr.Close(ctx)
		stdout.Close(ctx)
	}
	defer flush(flushTimeout)
	// Room for both, so that none is lost however fast they come.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		fmt.Fprintf(stderr, "%s: second signal: exiting at once\n", name)
		flush(flushAtOnce)
		os.Exit(exitFailed)
	}()
	return execute(ctx, &process{
		name:     name,
		stdin:    os.Stdin,
		stdout:   stdout,
		stderr:   stderr,
		outputs:  []*logqueue.Queue{stdout, stderr},
		env:      os.LookupEnv,
		terminal: isTerminal(os.Stderr),
		reloads:  reloads,
	}, os.Args[1:])
}

// detachOutput makes the process independent of the readers of its output: writes are
// queued, SIGPIPE is ignored, and libraries that log to stderr by themselves log to logger.
func detachOutput(outputs []*logqueue.Queue, dropped func(lines int64) []byte, logger *slog.Logger) {
	// Notify, not Ignore: processes that this one starts keep the default of SIGPIPE. Nobody
	// receives, for a write that fails returns EPIPE all the same.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, q := range outputs {
		q.Start(dropped)
	}
	slog.SetDefault(logger) // also of package log, with which net/http logs what has no logger
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, slog.NewLogLogger(logger.Handler(), slog.LevelWarn).Writer()))
}

// reloads turns SIGHUP into reloads until ctx is done. Without a call of it
// SIGHUP ends the process, as it does when a terminal closes.
func reloads(ctx context.Context) <-chan struct{} {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	asked := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
			select {
			case asked <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return asked
}

// isTerminal reports whether a person reads along.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), ioctlGetTermios)
	return err == nil
}
