package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

// measured returns a report of three rounds.
func measured() *report.Report {
	r := &report.Report{Machine: "2 CPUs", Postgres: "15.1", Settings: []report.Setting{{Name: "fsync", Value: "on"}}, Command: "hookstorm bench", Rounds: 3}
	for round := range 3 {
		slow := float64(1 + round) // the machine becomes slower and slower
		r.Add(report.SectionAccept, report.Limit, report.Rate, 30_000/slow)
		r.Add(report.SectionAccept, report.Naive, report.Rate, 2000/slow)
		r.Add(report.SectionAccept, report.NaiveWithoutGIN, report.Rate, 3000/slow)
		r.Add(report.SectionAccept, report.Hooklatch, report.Rate, 7500/slow)
		r.Add(report.SectionAccept, report.Hooklatch, report.WALWithoutImages, 2900)
	}
	r.Judge()
	return r
}

func TestRatiosAreMadeWithinARound(t *testing.T) {
	t.Parallel()
	outcomes := map[string]report.Outcome{}
	goals := measured().Goals
	require.Len(t, goals, len(report.Goals()))
	for _, o := range goals {
		if o.Measured {
			outcomes[o.Name] = o
		}
	}
	require.Len(t, outcomes, 3)
	naive := outcomes["accept: rate, relative to naive"]
	require.InDelta(t, 2.5, naive.Median, 1e-9, "the faster naive variant counts")
	require.InDelta(t, naive.Low, naive.High, 1e-9, "the drift of the machine affects both alike")
	require.True(t, naive.Met)
	limit := outcomes["accept: rate, relative to the limit"]
	require.InDelta(t, 0.25, limit.Median, 1e-9)
	require.False(t, limit.Met)
	require.InDelta(t, 1900, outcomes["accept: WAL in addition to the payload"].Median, 1e-9)
}

func TestTheReportHasSpreadGoalAndGap(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	require.NoError(t, measured().Print(&page))
	for _, want := range []string{
		"3,750 (2,500..7,500)", "2,900 (2,900..2,900)", "| at least 2.20x ", "| 2.50x (2.50..2.50) ", "| reached, but not certain ", "| 0.25x (0.25..0.25) ", "| missed by a factor of 1.12, but not certain |",
		"| -                      | not measured ",
	} {
		require.Contains(t, page.String(), want)
	}
	require.Contains(t, page.String(), "Postgres 15.1, a separate server for each system. Settings: fsync on.")
}

// A median that meets the goal proves little if the goal lies within the spread.
func TestAGoalWithinTheSpreadIsNotSure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p50  []float64 // the goal is at most 6 ms
		says string
	}{
		"all rounds below":  {p50: []float64{5.1, 5.2, 5.3, 5.4, 5.5}, says: "| 5.30 ms (5.10..5.50) | reached"},
		"one round above":   {p50: []float64{5.1, 5.2, 5.3, 5.4, 6.5}, says: "| 5.30 ms (5.10..6.50) | reached, but not certain"},
		"one of many above": {p50: []float64{5.1, 5.2, 5.3, 5.4, 6.5, 5.1, 5.2, 5.3, 5.4}, says: "| 5.30 ms (5.10..5.40) | reached"},
		"four rounds":       {p50: []float64{5.1, 5.2, 5.3, 5.4}, says: "| 5.25 ms (5.10..5.40) | reached, but not certain"},
		"one round below":   {p50: []float64{5.1, 6.6, 6.6, 6.6, 6.6}, says: "| 6.60 ms (5.10..6.60) | missed by a factor of 1.10, but not certain"},
		"all rounds above":  {p50: []float64{6.6, 6.6, 6.6, 6.6, 6.6}, says: "| 6.60 ms (6.60..6.60) | missed by a factor of 1.10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := measured()
			for _, value := range c.p50 {
				r.Add(report.SectionIdle, report.WholeLife, report.P50, value)
			}
			r.Judge()
			var page strings.Builder
			require.NoError(t, r.Print(&page))
			require.Contains(t, strings.Join(strings.Fields(page.String()), " "), c.says+" |")
		})
	}
}

func TestOnlyAQuickRunHasLooseBounds(t *testing.T) {
	t.Parallel()
	r := measured()
	r.Add(report.SectionIdle, report.WholeLife, report.P50, 9999)
	r.Judge()
	require.Empty(t, r.Broken())
	r.Quick = true
	r.Judge()
	require.Len(t, r.Broken(), 1)
	require.Equal(t, "idle: POST to the receiver's first byte, median", r.Broken()[0].Name)
}

func TestThePictureIsXMLWithABarForEach(t *testing.T) {
	t.Parallel()
	var picture strings.Builder
	require.NoError(t, measured().Picture(&picture))
	bars := 0
	for decoder := xml.NewDecoder(strings.NewReader(picture.String())); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if element, begins := token.(xml.StartElement); begins && element.Name.Local == "rect" {
			bars++
		}
	}
	require.Equal(t, 4, bars)
	require.Contains(t, picture.String(), "prefers-color-scheme:dark")
}

// docs/performance.md has the markers of the sections that the command writes.
func TestThePageHasPlacesForTheFigures(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/performance.md")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "performance.md")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	require.NoError(t, lived().Publish(path, filepath.Join(filepath.Dir(path), "pictures", "rates.svg")))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, want := range []string{"| at least 2.20x ", "](pictures/rates.svg)", "| 10,000,000   | 347/s "} {
		require.Contains(t, string(written), want)
	}
	before, _, _ := strings.Cut(string(text), report.Place.Begin)
	require.True(t, strings.HasPrefix(string(written), before))
}

// lived returns a report with full lifecycles and with rows that simulate years of use.
func lived() *report.Report {
	r := measured()
	r.Rows = 10_000_000
	for quantity, value := range map[report.Quantity]float64{
		report.CPUServer: 100, report.CPUWorker: 300, report.CPUPostgres: 600, report.WAL: 5000, report.DeliveryKept: 1500,
	} {
		r.Add(report.SectionLife, report.WholeLife, quantity, value)
	}
	r.Add(report.SectionYears, report.ThisTree, report.RowsKept, 1500)
	r.Add(report.SectionYears, report.ThisTree, report.WAL, 15_000)
	return r
}

func TestSizingIsComputedFromTheMeasurements(t *testing.T) {
	t.Parallel()
	require.Empty(t, measured().Sizing(), "there is no sizing without full lifecycles")
	// 10,000,000 events a day are 347 per second in the busiest hour. Each event takes a
	// millisecond of CPU, and 90 x 1,500 + 30 x 1,500 bytes.
	require.Contains(t, lived().Sizing(), "| 10,000,000   | 347/s        | 0.58  | 1.80 TB | 50.0 GB   | 150 GB                  |")
}

func TestReportsOfOneCommitArePutTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.json")
	other := &report.Report{Machine: "2 CPUs", Command: "hookstorm bench --only years"}
	other.Add(report.SectionYears, report.ThisTree, report.WAL, 15_000)
	other.Add(report.SectionYears, report.PreviousCommit, report.WAL, 60_000)
	require.NoError(t, other.WriteJSON(path))
	read, err := report.Read(path)
	require.NoError(t, err)

	all := measured()
	require.NoError(t, all.Merge(read))
	var text strings.Builder
	require.NoError(t, all.Print(&text))
	require.Contains(t, text.String(), "| 0.25x (0.25..0.25) ")
	require.ErrorContains(t, all.Merge(read), "two reports have the section")
	require.ErrorContains(t, all.Merge(&report.Report{Machine: "2 CPUs", Commit: "abc"}), "cannot be compared")
}
