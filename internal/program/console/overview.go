package console

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

type overviewPage struct {
	view
	*doctor.Status

	Cells   []Cell
	Numbers []keyNumber
	Unseen  []shownSource // configured sources that have not received anything yet
	Empty   bool          // true if no event has been accepted yet, and Unseen is empty
}

// showOverview shows the key numbers, alerts, and waiting work.
func showOverview(r *request) error {
	s, err := r.status.Get(r.Context())
	if err != nil {
		return err
	}
	shown := overviewPage{view: r.view("overview", "Overview"), Status: s, Unseen: unseen(r, s), Numbers: []keyNumber{
		numberOf("First-attempt failure rate", "first attempts", s.FirstAttempts), numberOf("Duplicate rate", "events", s.Duplicates),
	}}
	shown.Empty = len(shown.Unseen) == 0
	for _, of := range s.Sources {
		shown.Empty = shown.Empty && of.LastAccepted.IsZero()
	}
	if r.opts.Cells != nil {
		shown.Cells = r.opts.Cells(r.Context())
	}
	return r.render(http.StatusOK, "overview", shown)
}

func (p overviewPage) data() (any, error) { return p.Status, nil }

// Waiting returns the effect states whose counts are shown for each destination.
func (overviewPage) Waiting() []string {
	return texts([]ledger.EffectState{ledger.EffectPending, ledger.EffectStarted, ledger.EffectInDoubt, ledger.EffectParked, ledger.EffectFailed})
}

// attention is an alert of this cell or of another one.
type attention struct {
	alarm.Alert

	Cell    string // name of the other cell; empty for an alert of this cell
	LeadsTo string // path of the alert's page, relative to the console's path, or "" if it has none
}

// Attention returns the alerts of this cell, and then those of the other cells. A cell that did not
// answer has an alert about that.
func (p overviewPage) Attention() []attention {
	var all []attention
	for _, a := range p.Needs {
		all = append(all, attention{Alert: a, LeadsTo: pageOf(a)})
	}
	for _, c := range p.Cells {
		if c.Away != "" {
			away := alarm.Alert{Severity: alarm.Page, Message: "did not answer: " + c.Away, Command: "hooklatch status"}
			all = append(all, attention{Alert: away, Cell: c.Name})
		}
		for _, a := range c.Needs {
			one := attention{Alert: a, Cell: c.Name}
			if page := pageOf(a); page != "" {
				one.LeadsTo = c.Path + page
			}
			all = append(all, one)
		}
	}
	return all
}

// pageOf returns the path of an alert's page, relative to the path of the cell's console, or "" if
// the alert has no page.
func pageOf(a alarm.Alert) string {
	subject := url.QueryEscape(a.Subject)
	switch a.Name {
	case "effects_failed":
		return "/effects?state=failed&destination=" + subject
	case "effects_parked":
		return "/effects?state=parked&destination=" + subject
	case "first_attempts_fail", "effects_late", "breaker_open", "attempts_abandoned":
		return destinationPath(a.Subject)
	case "events_failed":
		return "/events?state=failed&source=" + subject
	case "events_held":
		return "/events?state=held&source=" + subject
	case "events_skipped":
		return "/events?state=skipped&source=" + subject
	case "events_late":
		return "/events?state=received&source=" + subject
	case "refusals", "known_sender_refused":
		return "/quarantine?source=" + subject
	case "source_silent", "events_missed", "events_missed_often", "endpoint_off", "list_behind", "list_unreadable":
		return sourcePath(a.Subject)
	case "duplicates":
		return "/events?has=duplicates&source=" + subject
	}
	return ""
}

// Size returns the total size of all tables.
func (p overviewPage) Size() string { return doctor.Volume(p.bytes()) }

func (p overviewPage) bytes() (n int64) {
	for _, t := range p.Tables {
		n += t.Bytes
	}
	return n
}

// Growth says by how many percent all tables together have grown, and in how many days.
func (p overviewPage) Growth() string {
	var grew int64
	var days int
	for _, t := range p.Tables {
		grew, days = grew+t.Grew, max(days, t.Days)
	}
	if days == 0 {
		return "growth is shown after one day"
	}
	return fmt.Sprintf("%+.1f %% in %s", 100*float64(grew)/float64(max(p.bytes()-grew, 1)), noun.Counted(days, "day"))
}

// Volume formats a number of bytes.
func (overviewPage) Volume(n int64) string { return doctor.Volume(n) }

// Refused returns the number of a source's refused requests, for all reasons.
func (overviewPage) Refused(of doctor.Source) (n int64) {
	for _, some := range of.Refused {
		n += some
	}
	return n
}

// Meaning returns the most likely cause of a refusal.
func (overviewPage) Meaning(reason string) string { return doctor.Meaning(reason) }

const (
	// badgesAgain is the age after which badges are read again. A page that reads the whole status
	// also refreshes them.
	badgesAgain = 10 * time.Second
	// badgesStale is the maximum age of shown badges.
	badgesStale = time.Minute
)

// badges contain the numbers of items that need attention, for the navigation links. 0 means none
// or unknown. No page waits for them.
type badges struct {
	Effects, Destinations, Quarantine int64
}

func (c *Console) badges() badges {
	s, known := c.status.Glance(badgesAgain, badgesStale)
	if !known {
		return badges{}
	}
	return badgesOf(s)
}

func badgesOf(s *doctor.Status) (b badges) {
	for _, d := range s.Destinations {
		for _, state := range []ledger.EffectState{ledger.EffectInDoubt, ledger.EffectParked, ledger.EffectFailed} {
			b.Effects += d.Effects[string(state)]
		}
		if !d.PausedAt.IsZero() || !d.OpenedAt.IsZero() {
			b.Destinations++
		}
	}
	for _, of := range s.Sources {
		b.Quarantine += of.Quarantined
	}
	return b
}
