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

// measured is a report of three rounds.
func measured() *report.Report {
	r := &report.Report{Machine: "2 CPUs", Postgres: "15.1", Settings: []report.Setting{{Name: "fsync", Value: "on"}}, Command: "hookstorm bench", Rounds: 3}
	for round := range 3 {
		slow := float64(1 + round) // the machine gets slower and slower
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
	naive := outcomes["accept: rate, of naive's"]
	require.InDelta(t, 2.5, naive.Median, 1e-9, "the faster naive counts")
	require.InDelta(t, naive.Min, naive.Max, 1e-9, "the drift of the machine meets both")
	require.True(t, naive.Met)
	limit := outcomes["accept: rate, of the limit's"]
	require.InDelta(t, 0.25, limit.Median, 1e-9)
	require.False(t, limit.Met)
	require.InDelta(t, 1900, outcomes["accept: WAL beside the payload"].Median, 1e-9)
}

func TestTheReportHasSpreadGoalAndGap(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	require.NoError(t, measured().Print(&page))
	for _, want := range []string{
		"3,750 (2,500..7,500)", "2,900 (2,900..2,900)", "| at least 2.20x ", "| 2.50x (2.50..2.50) ", "| reached ", "| 0.25x (0.25..0.25) ", "| missed by a factor of 1.12 |",
		"| -                      | not measured ",
	} {
		require.Contains(t, page.String(), want)
	}
	require.Contains(t, page.String(), "Postgres 15.1, one for each: fsync on.")
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

// docs/performance.md has the place that the command writes.
func TestThePageHasAPlaceForTheFigures(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/performance.md")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "performance.md")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	require.NoError(t, measured().Publish(path))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(written), "| at least 2.20x ")
	before, _, _ := strings.Cut(string(text), report.Place.Begin)
	require.True(t, strings.HasPrefix(string(written), before))
}
