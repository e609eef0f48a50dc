package doctor

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/safetext"
)

// Print writes the status on one screen.
func (s *Status) Print(w io.Writer) error {
	p := &printer{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), now: s.At}
	p.numbers(s)
	p.needs(s)
	p.server(s)
	p.waits(s)
	p.sources(s)
	p.processes(s)
	return p.w.Flush()
}

type printer struct {
	w   *tabwriter.Writer
	now time.Time
}

// row writes cells that are aligned with the cells of neighbouring rows. It makes text
// from untrusted senders safe for a terminal.
func (p *printer) row(cells ...string) {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = safetext.Shown(cell)
	}
	fmt.Fprintln(p.w, strings.TrimRight(strings.Join(safe, "\t"), "\t"))
}

// title begins a part. Rows of different parts are not aligned.
func (p *printer) title(text string) {
	_ = p.w.Flush() // Print returns the same error
	fmt.Fprintf(p.w, "\n%s\n", text)
	_ = p.w.Flush()
}

func (p *printer) numbers(s *Status) {
	p.row("at", s.At.UTC().Format(timeLayout))
	p.row("first-attempt failure rate", percent(s.FirstAttempts.Rate()), sparkline(s.FirstAttempts.Hours), fmt.Sprintf("of %d in the last hour%s", s.FirstAttempts.All, usually(s.FirstAttempts)))
	p.row("duplicate rate", percent(s.Duplicates.Rate()), sparkline(s.Duplicates.Hours), fmt.Sprintf("of %d in the last hour%s", s.Duplicates.All, usually(s.Duplicates)))
	var bytes, grew int64
	var days int
	for _, t := range s.Tables {
		bytes, grew, days = bytes+t.Bytes, grew+t.Grew, max(days, t.Days)
	}
	growth := ""
	if days > 0 {
		growth = fmt.Sprintf("%+.1f %% in %s", 100*float64(grew)/float64(max(bytes-grew, 1)), clock.Roughly(time.Duration(days)*24*time.Hour))
	}
	p.row("tables", Volume(bytes), growth, largest(s.Tables))
}

// usually returns the usual rate as text, or "" if the rate is unknown.
func usually(s Share) string {
	if s.Usual == nil {
		return ""
	}
	return ", usually " + percent(*s.Usual, true)
}

// largest returns the three largest tables as text. The given tables are sorted by size.
func largest(tables []Table) string {
	var names []string
	for _, t := range tables[:min(3, len(tables))] {
		names = append(names, fmt.Sprintf("%s %s", t.Name, Volume(t.Bytes)))
	}
	return strings.Join(names, ", ")
}

func (p *printer) needs(s *Status) {
	if len(s.Needs) == 0 {
		p.title("NOTHING NEEDS ATTENTION")
		return
	}
	p.title("NEEDS ATTENTION")
	for _, a := range s.Needs {
		since := ""
		if !a.Since.IsZero() {
			since = "since " + p.ago(a.Since)
		}
		p.row(string(a.Severity), a.Name, a.Message, since)
		p.row("", "", "-> "+a.Command)
	}
}

// server prints findings about the database server.
func (p *printer) server(s *Status) {
	if len(s.Server) == 0 {
		return
	}
	p.title("SERVER")
	for _, f := range s.Server {
		p.row(string(f.Level), f.Check, f.Message)
		p.row("", "", "-> "+f.Fix)
	}
}

// ago returns the time since t as text, or a dash if t is zero.
func (p *printer) ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return clock.Roughly(p.now.Sub(t))
}

func (p *printer) waits(s *Status) {
	p.title("DESTINATIONS")
	p.row("NAME", "PENDING", "STARTED", "IN DOUBT", "PARKED", "FAILED", "OLDEST DUE", "FIRST FAILED 1 H", "BLOCKED BY")
	for _, d := range s.Destinations {
		holds := "-"
		switch {
		case !d.PausedAt.IsZero():
			holds = fmt.Sprintf("paused by %s, for %s%s", d.PausedBy, p.ago(d.PausedAt), because(d.PauseReason))
		case !d.OpenedAt.IsZero():
			holds = fmt.Sprintf("breaker open, for %s: %s", p.ago(d.OpenedAt), d.Breaker)
		}
		p.row(d.Name, orDash(d.Count("pending")), orDash(d.Count("started")), orDash(d.Count("in_doubt")),
			orDash(d.Count("parked")), orDash(d.Count("failed")), p.ago(d.OldestDue), ofAll(d.FirstFailed, d.First), holds)
	}
}

func (p *printer) sources(s *Status) {
	p.title("SOURCES")
	p.row("NAME", "LAST ACCEPTED", "EVENTS 1 H", "DUPLICATES", "USUALLY", "UNDISPATCHED", "SKIPPED 1 H", "FAILED", "HELD", "QUARANTINE", "REFUSED 1 H")
	for _, of := range s.Sources {
		usual := "-"
		if of.UsualDuplicates != nil {
			usual = percent(*of.UsualDuplicates, true)
		}
		waits := orDash(of.Waits())
		if !of.OldestUndispatched.IsZero() {
			waits += " for " + p.ago(of.OldestUndispatched)
		}
		if of.Unserved {
			waits += ", no worker serves the source"
		}
		var refused int64
		for _, n := range of.Refused {
			refused += n
		}
		p.row(of.Name, p.ago(of.LastAccepted), number(of.Accepted+of.Duplicates), percent(rate(of.Duplicates, of.Accepted+of.Duplicates)), usual,
			waits, number(of.Skipped), number(of.Failed), number(of.Held), number(of.Quarantined), number(refused))
	}
	p.unseen(s)
	p.lists(s)
	p.refusals(s)
}

// unseen prints, for each configured source that has not received anything yet, the command that
// sends it a test event.
func (p *printer) unseen(s *Status) {
	first := true
	for _, of := range s.Sources {
		if !of.configured || !of.Unseen() {
			continue
		}
		if first {
			p.title("NOTHING RECEIVED YET")
		}
		p.row(of.Name, "-> "+s.flags.AddTo("hooklatch send "+safetext.Shell(of.Name)))
		first = false
	}
}

// Unseen reports whether the source has not received anything yet.
func (s Source) Unseen() bool {
	return s.LastAccepted.IsZero() && len(s.Refused) == 0 && s.Quarantined == 0 && s.Undispatched == 0 && s.Accepted+s.Duplicates == 0
}

// lists prints how complete the events of each source are, compared with its provider's list.
func (p *printer) lists(s *Status) {
	if !slices.ContainsFunc(s.Sources, func(of Source) bool { return of.Backfill != nil }) {
		return
	}
	p.title("PROVIDER LISTS")
	p.row("SOURCE", "COMPLETE UNTIL", "LISTED 1 H", "RECOVERED", "MISSING", "LOST", "ENDPOINT")
	for _, of := range s.Sources {
		if b := of.Backfill; b != nil {
			p.row(of.Name, p.ago(b.CoveredUntil), number(b.Listed), number(b.Recovered), number(b.Reported), number(b.Lost), orDash(b.Endpoint))
		}
	}
}

// refusals prints the reasons for refused requests, and the most likely causes.
func (p *printer) refusals(s *Status) {
	if !slices.ContainsFunc(s.Sources, func(of Source) bool { return len(of.Refused) > 0 }) {
		return
	}
	p.title("REFUSED IN THE LAST HOUR")
	for _, of := range s.Sources {
		for _, reason := range slices.Sorted(maps.Keys(of.Refused)) {
			p.row(of.Name, number(of.Refused[reason]), reason, Meaning(reason))
		}
	}
}

func (p *printer) processes(s *Status) {
	p.title("PROCESSES")
	p.row("NAME", "KIND", "VERSION", "CONFIGURATION", "SEEN")
	for _, one := range s.Processes {
		p.row(one.Name, one.Kind, one.Version, one.ConfigHash, p.ago(one.SeenAt))
	}
}

// Count returns the number of effects in a state, with a plus if the real number may be higher.
func (d Destination) Count(state string) string {
	return UpTo(d.Effects[state], slices.Contains(d.AtLeast, state))
}

// Waits returns the number of events that wait to be dispatched, with a plus if the real number may
// be higher.
func (s Source) Waits() string { return UpTo(s.Undispatched, s.AtLeast) }

// UpTo formats a count, with a plus if the real count may be higher.
func UpTo(n int64, atLeast bool) string {
	if atLeast {
		return strconv.FormatInt(n, 10) + "+"
	}
	return strconv.FormatInt(n, 10)
}

// number formats a count, or a dash for 0.
func number(n int64) string { return orDash(strconv.FormatInt(n, 10)) }

// orDash replaces "0" with a dash.
func orDash(count string) string {
	if count == "0" {
		return "-"
	}
	return count
}

// Volume formats a number of bytes with a readable unit.
func Volume(n int64) string {
	const kib = 1 << 10
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for ; value >= kib && unit < len(units)-1; unit++ {
		value /= kib
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

func ofAll(part, all int64) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", part, all)
}

func percent(share float64, known bool) string {
	if !known {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// sparkline draws rates, scaled to the highest rate, with a space for an unknown rate.
func sparkline(shares []*float64) string {
	const bars = "▁▂▃▄▅▆▇█"
	highest := 0.0
	for _, share := range shares {
		if share != nil {
			highest = max(highest, *share)
		}
	}
	levels := []rune(bars)
	line := make([]rune, len(shares))
	for i, share := range shares {
		switch {
		case share == nil:
			line[i] = ' '
		case highest == 0:
			line[i] = levels[0]
		default:
			line[i] = levels[int(*share/highest*float64(len(levels)-1)+0.5)]
		}
	}
	return string(line)
}
