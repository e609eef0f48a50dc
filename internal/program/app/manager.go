package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// inheritedDelay is the minimum of gateway.drain_delay if a service manager keeps the gateway's
// port. New connections wait at the port for the next process, so the delay is only for connections
// that the gateway has accepted.
const inheritedDelay = time.Second

// maxWaitingStates is the maximum number of states that wait for the service manager.
const maxWaitingStates = 16

// manager sends states to the service manager, in order. A service manager that reads nothing
// blocks the send. No other part of the process may wait for a send, so a goroutine sends.
type manager struct {
	send func(state string)

	mu      sync.Mutex
	waiting []string // without the state that is being sent
	sending bool     // whether the goroutine runs
}

// tell sends a state after the waiting ones. If maxWaitingStates are waiting, tell drops the oldest
// one that is only a status: a later status replaces it. If no status is waiting, tell drops the
// oldest state.
func (m *manager) tell(state string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state == daemon.SdNotifyWatchdog && len(m.waiting) > 0 {
		return // the process is healthy now, which says nothing about the time when the state is read
	}
	if len(m.waiting) == maxWaitingStates {
		dropped := max(slices.IndexFunc(m.waiting, func(one string) bool { return strings.HasPrefix(one, "STATUS=") }), 0)
		m.waiting = slices.Delete(m.waiting, dropped, dropped+1)
	}
	m.waiting = append(m.waiting, state)
	if !m.sending {
		m.sending = true
		go m.sendAll()
	}
}

// sendAll sends the waiting states until none is left.
func (m *manager) sendAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.waiting) > 0 {
		state := m.waiting[0]
		m.waiting = slices.Delete(m.waiting, 0, 1)
		m.mu.Unlock()
		m.send(state)
		m.mu.Lock()
	}
	m.sending = false
}

// tell notifies the service manager, if there is one, of a state such as READY=1, and of a status.
// Line breaks in a status are replaced, because a status is one line. tell does not wait for the
// service manager.
func (a *App) tell(state, status string) {
	if a.opts.Tell == nil {
		return
	}
	if status != "" {
		state = strings.TrimPrefix(state+"\nSTATUS="+strings.ReplaceAll(status, "\n", "; "), "\n")
	}
	a.manager.tell(state)
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
