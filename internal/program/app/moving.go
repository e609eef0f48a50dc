package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/moves"
	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// movesEvery is the interval at which a process asks the databases which cells store the events of
// moving sources. If a database refuses an event because the event's source is moving, the process
// does not wait for the interval, but asks again after movesAtMost.
const (
	movesEvery  = 2 * time.Second
	movesAtMost = 100 * time.Millisecond
)

// moving passes the deliveries of a source with moved_from to the cell that stores its events. This
// is the old cell until the move is complete, and then the new cell. The databases, and not the
// process, decide when the move is complete: the old cell's database then refuses the source's
// events.
type moving struct {
	source   string
	from, to *App
	arrived  atomic.Bool
	asked    chan struct{} // closed after the databases were first asked, even if none answered
	answered sync.Once
	ask      chan<- struct{} // wakes watchMoves
}

// cell returns the App that stores the source's events now.
func (m *moving) cell() *App {
	if m.arrived.Load() {
		return m.to
	}
	return m.from
}

// Accept implements gateway.Accepter.
func (m *moving) Accept(ctx context.Context, d outbox.Delivery) (outbox.Acceptance, error) {
	m.awaitAnswer(ctx)
	came, err := m.cell().gate.Accept(ctx, d)
	if moves.Refused(err) {
		select {
		case m.ask <- struct{}{}:
		default:
		}
	}
	return came, err
}

// awaitAnswer waits until the process has asked the databases for the first time, at most as long
// as a delivery may wait for its commit.
func (m *moving) awaitAnswer(ctx context.Context) {
	select {
	case <-m.asked:
		return
	default:
	}
	timer := time.NewTimer(m.from.gate.patience)
	defer timer.Stop()
	select {
	case <-m.asked:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Keep implements gateway.Quarantine.
func (m *moving) Keep(source identity.Source, from netip.Prefix, size int, refused func() quarantine.Refused) {
	m.cell().keeper.Keep(source, from, size, refused)
}

// Accepted implements gateway.Quarantine.
func (m *moving) Accepted(source identity.Source, from netip.Prefix) {
	m.cell().keeper.Accepted(source, from)
}

// Known implements gateway.Quarantine.
func (m *moving) Known(source identity.Source, from netip.Prefix) bool {
	return m.cell().keeper.Known(source, from)
}

// movingSources contains the sources with moved_from, by name. All cells of a process share them.
type movingSources struct {
	all atomic.Pointer[map[string]*moving]
	ask chan struct{}
}

func newMovingSources() *movingSources { return &movingSources{ask: make(chan struct{}, 1)} }

// get returns a moving source, or nil.
func (s *movingSources) get(source string) *moving {
	all := s.all.Load()
	if all == nil {
		return nil
	}
	return (*all)[source]
}

// nextMoving returns the moving sources of a configuration. A source that moves between the same
// cells as before keeps its state.
func (a *App) nextMoving(next *config.Config) map[string]*moving {
	byName := map[string]*App{}
	for _, one := range a.all() {
		byName[one.cell] = one
	}
	list := map[string]*moving{}
	for name, s := range next.Sources {
		from, to := byName[s.MovedFrom], byName[s.InCell()]
		switch known := a.moving.get(name); {
		case s.MovedFrom == "" || from == nil || to == nil: // a reload refuses unknown cells
		case known != nil && known.from == from && known.to == to:
			list[name] = known
		default:
			list[name] = &moving{source: name, from: from, to: to, asked: make(chan struct{}), ask: a.moving.ask}
		}
	}
	return list
}

// stores reports whether this App's cell stores the events of a source that is configured in this
// cell. While the source moves, its old cell may still store them.
func (a *App) stores(source string) bool {
	m := a.moving.get(source)
	return m == nil || m.cell() == a
}

// storing returns the configuration without the sources whose events another cell stores.
func (a *App) storing() *config.Config {
	cfg := a.config.Load()
	if slices.ContainsFunc(slices.Collect(maps.Keys(cfg.Sources)), func(name string) bool { return !a.stores(name) }) {
		part := *cfg
		part.Sources = maps.Clone(cfg.Sources)
		maps.DeleteFunc(part.Sources, func(name string, _ config.Source) bool { return !a.stores(name) })
		return &part
	}
	return cfg
}

// watchMoves asks the databases which cells store the moving sources, until ctx is done.
func (a *App) watchMoves(ctx context.Context) {
	ticker := time.NewTicker(movesEvery)
	defer ticker.Stop()
	for {
		if all := a.moving.all.Load(); all != nil && len(*all) > 0 {
			a.askMoves(ctx, *all)
		}
		select {
		case <-ticker.C:
		case <-a.moving.ask:
			select {
			case <-time.After(movesAtMost):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// askMoves asks the databases of the old and the new cells which cell stores the events of each
// moving source.
func (a *App) askMoves(ctx context.Context, list map[string]*moving) {
	byName, names := map[string]*App{}, slices.Sorted(maps.Keys(list))
	for _, m := range list {
		byName[m.from.cell], byName[m.to.cell] = m.from, m.to
	}
	known := map[string]map[string]moves.State{}
	for _, one := range cells.Ask(ctx, slices.Sorted(maps.Keys(byName)), cells.Patience, func(ctx context.Context, name string) (map[string]moves.State, error) {
		return byName[name].outbox.Moves().States(ctx, names)
	}) {
		if one.Err == nil {
			known[one.Cell] = one.Value
		}
	}
	for _, name := range names {
		m := list[name]
		left, fromAnswered := known[m.from.cell]
		came, toAnswered := known[m.to.cell]
		if fromAnswered || toAnswered {
			m.settle(ctx, left[name].Left && left[name].ToCell == m.to.cell || came[name].Arrived && !came[name].Left)
		}
		m.answered.Do(func() { close(m.asked) })
	}
}

// settle sets the cell that stores the source's events.
func (m *moving) settle(ctx context.Context, arrived bool) {
	if m.arrived.Swap(arrived) == arrived {
		return
	}
	m.to.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "the source's events are now stored in this cell", slog.String(logkey.Source, m.source), slog.String(logkey.Cell, m.cell().cell))
	if arrived && m.to.gate != nil {
		m.to.hurryBackfill(ctx)
	}
}

// refuseMoved refuses a configuration that puts a source into another cell without a move. The new
// cell's database would accept duplicates of the events that the old cell stores. refuseMoved also
// refuses a configuration that puts a source into a cell that was not configured when the process
// started.
func (a *App) refuseMoved(old, next *config.Config) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(next.Sources)) {
		s := next.Sources[name]
		at := old.Sources[name].InCell()
		if m := a.moving.get(name); m != nil {
			at = m.cell().cell
		}
		_, known := old.Sources[name]
		switch {
		case known && s.InCell() != at && s.MovedFrom != at:
			errs = append(errs, next.Problem("sources."+name+".cell", movedWithout(name, at, s.InCell())))
		case !runs(old, s.InCell()):
			errs = append(errs, next.Problem("sources."+name+".cell", "the cell "+s.InCell()+" is new: restart to use it"))
		}
	}
	return errors.Join(errs...)
}

// movedWithout explains how to move a source.
func movedWithout(source, from, to string) string {
	return "the source is in the cell " + from + " while the processes run; add moved_from: " + from + ", reload, and run `hooklatch cells move " + source + " --to " + to + "`"
}

func runs(cfg *config.Config, cell string) bool { return slices.Contains(cfg.CellNames(), cell) }
