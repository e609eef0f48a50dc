package quarantine

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

const (
	// maxAddresses limits, per source, the addresses that a process has noted. It also limits the
	// addresses that the hourly deletion leaves in the table: those with the latest accepted
	// deliveries.
	maxAddresses = 4096
	// noteAgain is the minimum time between two writes of the same address by a process. readAgain
	// is the minimum time between two reads of the addresses of all processes.
	noteAgain = time.Hour
	readAgain = time.Minute
)

// sender is an address that sends a source's deliveries.
type sender struct {
	source  identity.Source
	address netip.Prefix
}

// addresses holds the addresses of accepted deliveries.
type addresses struct {
	mu     sync.Mutex
	stored map[sender]bool       // in the table at the last read
	any    map[netip.Prefix]bool // all addresses in stored and noted, for any source
	noted  map[sender]time.Time  // addresses that this process has noted, each kept for at least noteAgain
	bySrc  map[identity.Source]int
	fresh  []sender // addresses to be stored
	readAt time.Time
}

func newAddresses() *addresses {
	return &addresses{noted: make(map[sender]time.Time), any: make(map[netip.Prefix]bool), bySrc: make(map[identity.Source]int)}
}

// note records an address, and reports whether the address must be stored.
func (a *addresses) note(source identity.Source, from netip.Prefix) bool {
	s := sender{source, from}
	a.mu.Lock()
	defer a.mu.Unlock()
	at, known := a.noted[s]
	if known && time.Since(at) < noteAgain {
		return false
	}
	if !known && a.bySrc[source] >= maxAddresses {
		a.forgetOld()
		if a.bySrc[source] >= maxAddresses {
			return false
		}
	}
	if !known {
		a.bySrc[source]++
	}
	a.noted[s] = time.Now()
	a.any[from] = true
	a.fresh = append(a.fresh, s)
	return true
}

// forgetOld removes from memory the addresses that were noted at least noteAgain ago. The table
// keeps them until they expire.
func (a *addresses) forgetOld() {
	for s, at := range a.noted {
		if time.Since(at) >= noteAgain {
			delete(a.noted, s)
			a.bySrc[s.source]--
		}
	}
}

// known reports whether a delivery of the source from this address was accepted in the last 30
// days. An empty source means any source.
func (a *addresses) known(source identity.Source, from netip.Prefix) bool {
	s := sender{source, from}
	a.mu.Lock()
	defer a.mu.Unlock()
	if source == "" {
		return a.any[from]
	}
	_, noted := a.noted[s]
	return noted || a.stored[s]
}

// takeFresh returns the addresses to store, and reports whether to read the table.
func (a *addresses) takeFresh() (fresh []sender, read bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fresh, a.fresh = a.fresh, nil
	return fresh, time.Since(a.readAt) >= readAgain
}

func (a *addresses) putBack(fresh []sender) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fresh = append(fresh, a.fresh...)
}

func (a *addresses) learn(stored map[sender]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stored, a.readAt = stored, time.Now()
	a.forgetOld()
	a.any = make(map[netip.Prefix]bool, len(stored))
	for s := range stored {
		a.any[s.address] = true
	}
	for s := range a.noted {
		a.any[s.address] = true
	}
}

type addressRow struct {
	Source  identity.Source
	Address string
}

type noteAddresses struct{ Addresses []addressRow }

// syncAddresses stores the addresses that this process noted, and reads the addresses of all
// processes. Once an hour it also deletes expired addresses and deliveries.
func (k *Keeper) syncAddresses(ctx context.Context) error {
	fresh, read := k.addresses.takeFresh()
	tidy := time.Since(k.tidied) >= k.tidyEvery
	if len(fresh) == 0 && !read && !tidy {
		return nil
	}
	rows := make([]addressRow, len(fresh))
	for i, s := range fresh {
		rows[i] = addressRow{Source: s.source, Address: s.address.String()}
	}
	var stored map[sender]bool
	err := k.db.Do(ctx, "known_addresses", commit.Limits{Timeout: k.timeout}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		if len(rows) > 0 {
			if _, err := k.sql.NoteAddresses.With(noteAddresses{Addresses: rows}).Exec(ctx, tx); err != nil {
				return err
			}
		}
		if tidy {
			if err := k.tidy(ctx, tx); err != nil {
				return err
			}
		}
		if !read {
			return nil
		}
		found, err := k.sql.KnownAddresses.Query(ctx, tx)
		if err != nil {
			return err
		}
		stored = make(map[sender]bool)
		var s sender
		_, err = pgx.ForEachRow(found, []any{&s.source, &s.address}, func() error {
			stored[s] = true
			return nil
		})
		return err
	})
	if err != nil {
		k.addresses.putBack(fresh)
		return fmt.Errorf("note addresses: %w", err)
	}
	if read {
		k.addresses.learn(stored)
	}
	if tidy {
		k.tidied = time.Now()
	}
	return nil
}
