package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/internal/program/lookup"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// addCells creates an App without listeners for each cell other than the main one. This App has
// separate pools and a separate outbox for the cell's database. In a process with a worker, it also
// has a separate worker. The gateway of the main App passes each cell the deliveries of the cell's
// sources.
func (a *App) addCells(ctx context.Context) error {
	whole := a.opts.Config.Whole()
	for _, name := range slices.Sorted(maps.Keys(whole.Cells)) {
		opts := a.opts
		opts.Config, opts.DatabaseURL = whole.InCell(name), secret.Value{}
		opts.Handle, opts.Load, opts.Listener, opts.Tell = nil, nil, nil, nil
		opts.Logger = a.opts.Logger.With(slog.String(logkey.Cell, name))
		one := newApp(opts.withDefaults(), name)
		one.whole, one.process, one.failed, one.moving = a, a.process, a.failed, a.moving
		a.cells = append(a.cells, one)
		a.teardown.Add("cell "+name, a.drainTimeout()+stopSlack, func(ctx context.Context) error {
			return one.teardown.Run(ctx, a.drainTimeout()+stopSlack)
		})
		var err error
		one.telemetry, err = a.telemetry.Cell(ctx, name)
		if err == nil {
			err = one.openDatabase(ctx)
		}
		if err == nil {
			err = one.makeCell()
		}
		if err != nil {
			return fmt.Errorf("cell %s: %w", name, err)
		}
	}
	return nil
}

// all returns the Apps of all cells.
func (a *App) all() []*App { return append([]*App{a}, a.cells...) }

// endpoints returns the gateway's sources in the configuration next. In a process with several
// cells, each source has the cell that stores its deliveries. In such a process, endpoints also
// returns the sources that move, by name.
func (a *App) endpoints(next *config.Config) ([]gateway.Source, map[string]*moving, error) {
	if len(a.cells) == 0 {
		list, err := sourcesOf(next, a.outbox)
		return list, nil, err
	}
	var list []gateway.Source
	next = next.Whole()
	leaving := a.nextMoving(next)
	for _, one := range a.all() {
		sources, err := sourcesOf(next.InCell(one.cell), one.outbox)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range sources {
			s.Cell = &gateway.Cell{Name: one.cell, Accepter: one.gate, Quarantine: one.keeper, Minutes: one.minutes}
			switch m := leaving[s.Name]; {
			case m != nil && m.to != one:
				continue // the source is listed with the cell to which it moves
			case m != nil:
				s.Cell.Accepter, s.Cell.Quarantine = m, m
			}
			list = append(list, s)
		}
	}
	return list, leaving, nil
}

// consoles returns a handler that serves the console of the main cell, and each other cell's
// console below the path of that cell.
func (a *App) consoles() http.Handler {
	whole := a.opts.Config.Whole()
	if len(whole.Cells) == 0 {
		return a.console.Handler()
	}
	var base string
	if at, err := url.Parse(whole.Admin.ConsoleURL); err == nil { // the configuration check refuses an invalid URL
		base = signin.BaseOf(at)
	}
	mux := http.NewServeMux()
	mux.Handle("/", a.console.Handler())
	for _, name := range slices.Sorted(maps.Keys(whole.Cells)) {
		path := config.CellPath(name)
		mux.HandleFunc(path+"/", func(w http.ResponseWriter, r *http.Request) {
			for _, one := range a.cells { // the list of cells is filled after the listener's routes are created
				if one.cell == name {
					signin.AtBase(path, one.console.Handler()).ServeHTTP(w, r)
				}
			}
		})
		for _, page := range []string{"/logout", "/logout-everywhere"} { // all cells share one session
			mux.Handle("POST "+path+page, http.RedirectHandler(base+page, http.StatusTemporaryRedirect))
		}
	}
	return signin.AtBase(base, mux)
}

// otherCells returns the cells other than the main one with their firing alerts, for the console of
// the main cell.
func (a *App) otherCells(ctx context.Context) []console.Cell {
	return a.askConsoles(ctx, func(ctx context.Context, of *console.Console, c *console.Cell) (err error) {
		c.Needs, err = of.Needs(ctx)
		return err
	})
}

// findInCells looks up a text in the cells other than the main one.
func (a *App) findInCells(ctx context.Context, asked lookup.Asked) []console.Cell {
	return a.askConsoles(ctx, func(ctx context.Context, of *console.Console, c *console.Cell) (err error) {
		c.Hits, c.Unread, err = of.Find(ctx, asked)
		return err
	})
}

// askConsoles calls ask with the console of each cell other than the main one, concurrently, and
// returns the cells. It sets Away for a cell that cannot do its work, or for which ask fails.
func (a *App) askConsoles(ctx context.Context, ask func(ctx context.Context, of *console.Console, c *console.Cell) error) (list []console.Cell) {
	answers := askEach(ctx, a.cells, func(ctx context.Context, one *App) (c console.Cell, err error) {
		if err = one.readyAlone(ctx); err == nil {
			err = ask(ctx, one.console, &c)
		}
		return c, err
	})
	for _, one := range answers {
		one.Value.Name, one.Value.Path = one.Cell, config.CellPath(one.Cell)
		if one.Err != nil {
			one.Value.Away = one.Err.Error()
		}
		list = append(list, one.Value)
	}
	return list
}

// askEach calls ask for each of the cells, concurrently.
func askEach[T any](ctx context.Context, of []*App, ask func(ctx context.Context, one *App) (T, error)) []cells.Answer[T] {
	byName := map[string]*App{}
	for _, one := range of {
		byName[one.cell] = one
	}
	return cells.Ask(ctx, slices.Sorted(maps.Keys(byName)), cells.Patience, func(ctx context.Context, name string) (T, error) {
		return ask(ctx, byName[name])
	})
}

// askCells checks whether cells can do their work.
func (a *App) askCells(ctx context.Context, of []*App) []cells.Answer[struct{}] {
	return askEach(ctx, of, func(ctx context.Context, one *App) (struct{}, error) { return struct{}{}, one.readyAlone(ctx) })
}

// cellsAway returns the names of the cells that cannot do their work. It returns none unless
// reporter is the first cell that can do its work, so that only one cell alerts about the others.
func (a *App) cellsAway(ctx context.Context, reporter string) (away []string) {
	first := ""
	for _, one := range a.askCells(ctx, a.all()) {
		if one.Err != nil {
			away = append(away, one.Cell)
		} else if first == "" {
			first = one.Cell
		}
	}
	if first != reporter {
		return nil
	}
	return away
}

// readyCells is like Ready, for a process with several cells: it returns nil if at least one cell
// can do its work. With a stricter rule, one unavailable database would make all cells unusable.
func (a *App) readyCells(ctx context.Context) error {
	answers := a.askCells(ctx, a.all())
	away := cells.Away(answers)
	a.away.Store(&away)
	if len(away) < len(answers) {
		return nil
	}
	return errors.Join(cells.Errors(answers)...)
}

// whileAllAnswer returns a heartbeat that is sent only while all other cells can do their work, so
// that a missing heartbeat reports an unavailable cell.
func (a *App) whileAllAnswer(send func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if errs := cells.Errors(a.askCells(ctx, a.cells)); len(errs) > 0 {
			return errors.Join(errs...)
		}
		return send(ctx)
	}
}

// sentencesAway holds a sentence about each cell that could not do its work in the last check.
type sentencesAway = atomic.Pointer[[]string]
