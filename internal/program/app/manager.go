package app

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// inheritedDelay is the minimum of gateway.drain_delay if a service manager keeps the gateway's
// port. New connections wait there for the next process, so only the accepted ones need an answer.
const inheritedDelay = time.Second

// tell tells the service manager about the process, if there is one. A status is one line.
func (a *App) tell(state, status string) {
	if a.opts.Tell == nil {
		return
	}
	if status != "" {
		state = strings.TrimPrefix(state+"\nSTATUS="+strings.ReplaceAll(status, "\n", "; "), "\n")
	}
	a.opts.Tell(state)
}

// tellReload tells the service manager about a reload, around do.
func (a *App) tellReload(do func() error) error {
	a.tell(daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec(), "reloads the configuration")
	err := do()
	status := "ready"
	if err != nil {
		status = "the configuration in effect stays: " + err.Error()
	}
	a.tell(daemon.SdNotifyReady, status)
	return err
}

// leave lets the gateway work for gateway.drain_delay, or until ctx is done.
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
