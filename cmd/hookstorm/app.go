package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/application"
)

// newApp returns the command with which a run starts the user's program.
func newApp() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:    "app",
		Short:  "Run the program with handlers in a torture run",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return application.Run(cmd.Context(), application.Options{
				Config:  config,
				Reloads: reloads(cmd.Context()),
				Logger:  slog.New(slog.NewJSONHandler(os.Stderr, nil)),
			})
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "configuration `file`")
	_ = cmd.MarkFlagRequired("config") // fails only for an unknown flag
	return cmd
}

// reloads returns a channel that requests reloads. After a SIGHUP, the channel receives a value.
// After ctx is done, it receives no more.
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
