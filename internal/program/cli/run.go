package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
	"google.golang.org/grpc/grpclog"

	"github.com/hooklatch/hooklatch/internal/program/logqueue"
)

// flushTimeout is the maximum time for which the process waits, before it exits, for the readers of
// stdout and stderr. After a second signal, the maximum is flushAtOnce.
const (
	flushTimeout = time.Second
	flushAtOnce  = 200 * time.Millisecond
)

// Main runs the command line of the process and returns the exit code. version is the version that
// the linker set, if any; licenses are the licences of all software in the binary.
//
// Only Main handles SIGINT and SIGTERM: the first of these signals starts a shutdown, and the
// second makes the process exit immediately.
func Main(version, licenses string) int {
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
	// The channel has room for both signals, so that neither is lost however fast they arrive.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		fmt.Fprintf(stderr, "%s: second signal: exiting immediately\n", name)
		flush(flushAtOnce)
		os.Exit(ExitFailed)
	}()
	return Execute(ctx, &Process{
		Name:          name,
		Stdin:         os.Stdin,
		Stdout:        stdout,
		Stderr:        stderr,
		outputs:       []*logqueue.Queue{stdout, stderr},
		Env:           os.LookupEnv,
		terminal:      term.IsTerminal(int(os.Stderr.Fd())),
		CellPatience:  patienceWithCell,
		AnswerTimeout: answerTimeout,
		Reloads:       reloads,
		version:       version,
		licenses:      licenses,
	}, os.Args[1:])
}

// detachOutput makes the process independent of the readers of its output. Writes are queued,
// SIGPIPE is ignored, and libraries that would log to stderr log to logger.
func detachOutput(outputs []*logqueue.Queue, dropped func(lines int64) []byte, logger *slog.Logger) {
	// Notify is used, not Ignore, so that child processes keep the default handling of SIGPIPE. The
	// channel is never read: a failing write returns EPIPE anyway.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, q := range outputs {
		q.Start(dropped)
	}
	slog.SetDefault(logger) // also for package log, which net/http uses if it has no logger
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, slog.NewLogLogger(logger.Handler(), slog.LevelWarn).Writer()))
}

// reloads turns each SIGHUP into a reload request until ctx is done. If reloads is not called,
// SIGHUP terminates the process, for example when its terminal closes.
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
