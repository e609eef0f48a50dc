// Command hooklatch takes webhooks once, stores them in Postgres before it
// answers, and makes their effects happen.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() { os.Exit(run()) }

// run is main with an exit code. Only here are signals known: the first one
// drains, the second one has its default effect and ends the process at once.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return execute(ctx, &process{
		name:     invocation(os.Args[0]),
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

// isTerminal tells whether a person reads along.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), ioctlGetTermios) //nolint:gosec // a file descriptor fits
	return err == nil
}
