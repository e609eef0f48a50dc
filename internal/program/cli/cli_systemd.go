package cli

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

// inheritedListener returns the socket on which systemd listens for the gateway, or nil if there is
// none. See systemd.socket(5).
func inheritedListener() (net.Listener, error) {
	sockets, err := activation.Listeners()
	switch {
	case err != nil:
		return nil, fmt.Errorf("take over the socket of the service manager: %w", err)
	case len(sockets) == 0:
		return nil, nil
	case len(sockets) > 1 || sockets[0] == nil:
		return nil, fmt.Errorf("the service manager passed %d sockets: the gateway takes one TCP socket; write one ListenStream in its .socket unit", len(sockets))
	}
	return sockets[0], nil
}

// tellSystemd returns a function that notifies systemd of the process's state. Without systemd, the
// function does nothing. See sd_notify(3).
func tellSystemd(logger *slog.Logger) func(state string) {
	return func(state string) {
		if _, err := daemon.SdNotify(false, state); err != nil {
			logger.Debug("the service manager was not notified", slog.Any(logkey.Err, err))
		}
	}
}
