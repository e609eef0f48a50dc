package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/internal/program/testevent"
	"github.com/hooklatch/hooklatch/internal/safetext"
)

// Report is the result of all deliveries of one call.
type Report struct {
	Answers    int            `json:"answers"`
	ByStatus   map[string]int `json:"by_status"` // 2xx, or the exact status if it is not 2xx
	Accepted   int            `json:"accepted"`
	Duplicates int            `json:"duplicates"`
	Other      int            `json:"other,omitempty"` // 2xx without events: handshakes, empty deliveries
	Unanswered int            `json:"unanswered,omitempty"`
	// EventID is the event's id, if all deliveries are the same event.
	EventID string `json:"event_id,omitempty"`
	// P50 and P99 are quantiles of the response time, in milliseconds.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	// Seconds is the duration of all deliveries.
	Seconds float64 `json:"seconds"`
	// Refused contains the first response body for each status except 2xx.
	Refused map[string]string `json:"refused,omitempty"`

	firstErr error
}

const accepted2xx = "2xx"

func newReport(answers []testevent.Answer, took time.Duration) *Report {
	r := &Report{ByStatus: map[string]int{}, Refused: map[string]string{}, Seconds: took.Seconds()}
	var times []time.Duration
	for _, a := range answers {
		if a.Status == 0 {
			r.Unanswered++
			if r.firstErr == nil {
				r.firstErr = a.Err
			}
			continue
		}
		r.Answers++
		times = append(times, a.Took)
		if a.Status/100 != 2 {
			status := strconv.Itoa(a.Status)
			r.ByStatus[status]++
			r.Refused[status] = cmp.Or(r.Refused[status], a.Body)
			continue
		}
		r.ByStatus[accepted2xx]++
		switch a.Result {
		case "accepted":
			r.Accepted++
		case "duplicate":
			r.Duplicates++
		default:
			r.Other++
		}
	}
	slices.Sort(times)
	r.P50, r.P99 = quantile(times, 0.50), quantile(times, 0.99)
	return r
}

// quantile returns a quantile of sorted times, in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
	return float64(at.Microseconds()) / 1000
}

// allAccepted reports whether every delivery got a 2xx response.
func (r *Report) allAccepted() bool {
	return r.Unanswered == 0 && r.ByStatus[accepted2xx] == r.Answers && r.Answers > 0
}

func (r *Report) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return PrintJSON(w, r)
	}
	var statuses []string
	// 2xx sorts before other statuses.
	for _, status := range slices.Sorted(maps.Keys(r.ByStatus)) {
		statuses = append(statuses, fmt.Sprintf("%d x %s", r.ByStatus[status], status))
	}
	line := fmt.Sprintf("%s: %s; %d accepted, %s", counted(r.Answers, "response"), strings.Join(statuses, ", "), r.Accepted, counted(r.Duplicates, "duplicate"))
	if r.Other > 0 {
		line += fmt.Sprintf(", %d without an event", r.Other)
	}
	if r.Unanswered > 0 {
		line += fmt.Sprintf("; %d without a response", r.Unanswered)
	}
	line += fmt.Sprintf("; p50 %s ms, p99 %s ms", millis(r.P50), millis(r.P99))
	if _, err := fmt.Fprintln(w, line); err != nil {
		return err
	}
	for _, status := range slices.Sorted(maps.Keys(r.Refused)) {
		fmt.Fprintf(w, "  %s: %s\n", status, safetext.Shown(r.Refused[status]))
	}
	if r.firstErr != nil {
		fmt.Fprintf(w, "  without a response: %s\n", safetext.Shown(r.firstErr.Error()))
	}
	return nil
}

// millis formats milliseconds, with one decimal below 10 ms and otherwise none.
func millis(ms float64) string {
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return strconv.FormatFloat(ms, 'f', 0, 64)
}

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
