package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

const (
	// watchers is how many keep the overview open, and readAgain how often the page of
	// each reads it again, as its script does.
	watchers  = 20
	readAgain = 5 * time.Second
)

// watchedTurn measures what people who look cost those who accept.
func watchedTurn(ctx context.Context, b *bench) error {
	for range b.rounds {
		if err := b.watch(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) watch(ctx context.Context) (err error) {
	var both []*contestant
	defer func() {
		for _, c := range both {
			err = errors.Join(err, c.leave(ctx))
		}
	}()
	for _, name := range []string{report.Unwatched, report.Watched} {
		c, err := b.contest(ctx, accepting, name, load.Options{}, b.sizes.warm)
		if err != nil {
			return err
		}
		both = append(both, c)
	}
	overview := both[1].stage.processes[0].admin + "/"
	both[1].beside = func(ctx context.Context) func() error { return openOverviews(ctx, overview) }
	return b.inTurn(ctx, report.SectionWatched, 10*b.sizes.accept, both)
}

// openOverviews asks for a page as often as all watchers together do, until it is ended.
func openOverviews(ctx context.Context, url string) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	client := &http.Client{Transport: &http.Transport{}}
	var looking sync.WaitGroup
	var failed error
	looking.Go(func() {
		ticker := time.NewTicker(readAgain / watchers)
		defer ticker.Stop()
		for {
			if err := look(ctx, client, url); err != nil && ctx.Err() == nil {
				failed = errors.Join(failed, err)
				return
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() error {
		cancel()
		looking.Wait()
		client.CloseIdleConnections()
		return failed
	}
}

// look reads a page whole.
func look(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("look: %w", err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("look: %w", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return fmt.Errorf("look: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("look: %s answered %s", url, answer.Status)
	}
	return nil
}
