// Command hooklatch takes webhooks once, stores them in Postgres before it
// answers, and makes their effects happen.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() { os.Exit(run()) }

// run is main with an exit code. Only here are signals known: the first one
// drains, the second one ends the process at once.
func run() int {
	name := invocation(os.Args[0])
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Room for both, so that none is lost however fast they come.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		fmt.Fprintf(os.Stderr, "%s: second signal: exiting at once\n", name)
		os.Exit(exitFailed)
	}()
	return execute(ctx, &process{
		name:     name,
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		env:      os.LookupEnv,
		terminal: isTerminal(os.Stderr),
		reloads:  reloads,
	}, os.Args[1:])
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
