package app

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// inheritedDelay is the minimum of gateway.drain_delay if a service manager keeps the gateway's
// port. New connections wait at the port for the next process, so the delay is only for connections
// that the gateway has accepted.
const inheritedDelay = time.Second

// tell notifies the service manager, if there is one, of a state such as READY=1, and of a status.
// Line breaks in a status are replaced, because a status is one line.
func (a *App) tell(state, status string) {
	if a.opts.Tell == nil {
		return
	}
	if status != "" {
		state = strings.TrimPrefix(state+"\nSTATUS="+strings.ReplaceAll(status, "\n", "; "), "\n")
	}
	a.opts.Tell(state)
}

// tellReload runs do, which reloads, and notifies the service manager when the reload begins and
// ends.
func (a *App) tellReload(do func() error) error {
	a.tell(daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec(), "reloads the configuration")
	err := do()
	status := "ready"
	if err != nil {
		status = "the current configuration stays in effect: " + err.Error()
	}
	a.tell(daemon.SdNotifyReady, status)
	return err
}

// leave lets the gateway continue to accept deliveries for gateway.drain_delay, or until ctx is
// done. If a service manager keeps the gateway's port, the delay is at least inheritedDelay.
func (a *App) leave(ctx context.Context) {
	a.tell(daemon.SdNotifyStopping, "finishes its work")
	delay := a.opts.Config.Gateway.DrainDelay
	if a.opts.Listener != nil {
		delay = max(delay, inheritedDelay)
	}
	if delay == 0 || a.GatewayAddr() == nil {
		return
	}
	a.gateway.Leave()
	a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "stopping: deliveries are still accepted, and each connection closes after its response")
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
