// Command hookstorm tries to break Hooklatch's promises. It runs real processes on its own
// Postgres and exposes them to the faults of real machines. Then it checks every operation of the
// run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // something failed, or a promise was broken
)

func main() { os.Exit(run()) }

// run is main with an exit code. The first SIGINT or SIGTERM cancels the context of the command.
// The second one stops the process immediately.
func run() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2) // room for both signals, however fast they arrive
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		fmt.Fprintln(os.Stderr, "hookstorm: second signal: exiting at once")
		os.Exit(exitFailed)
	}()
	return execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(streams{stdout, stderr})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errFound) {
		return exitFailed
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	fmt.Fprintf(stderr, "hookstorm: %v\n", err)
	return exitFailed
}
