package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// readyTimeout is longer than the 2 seconds that /readyz takes at most.
const readyTimeout = 3 * time.Second

func (c *cli) newReady() *cobra.Command {
	var given string
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Report whether the running process can do its work",
		Long: `Ask the admin listener of a running process whether the process can do its work, for
health checks of containers and service managers. The exit code is 0 if the process can.
It is 1 if the process cannot do its work, or does not respond within 3 seconds. The
command then prints the reason.

The listener's address is admin.listen in the configuration, on this machine. With --url
the command reads no configuration.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := c.adminListener(given)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), readyTimeout)
			defer cancel()
			got, err := listener.ready(ctx)
			switch {
			case err != nil:
				return err
			case c.asJSON:
				err = PrintJSON(c.Stdout, got)
			case got.Ready:
				_, err = fmt.Fprintln(c.Stdout, "ready")
			}
			if err == nil && !got.Ready {
				err = errors.New("not ready: " + got.Reason)
			}
			return err
		},
	}
	c.jsonFlag(cmd)
	cmd.Flags().StringVar(&given, "url", "", "base `URL` of an admin listener, such as http://127.0.0.1:8081 (default: the configured listener)")
	return cmd
}

// adminListener returns a client of the admin listener at a base URL, or of the configured listener
// if the URL is empty.
func (c *cli) adminListener(given string) (adminListener, error) {
	base, err := baseURL(given, "an admin listener", "http://127.0.0.1:8081")
	if err != nil {
		return adminListener{}, err
	}
	if base != nil {
		return newListener(base, nil), nil
	}
	cfg, err := c.loadConfig()
	if err != nil {
		return adminListener{}, err
	}
	return listenerOf(cfg), nil
}
