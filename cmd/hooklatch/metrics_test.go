package main_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// series is a metric as shown at /metrics.
type series struct {
	kind   string // counter, gauge or histogram
	labels []string
}

// documentedMetrics returns the metrics in docs/telemetry.md, by their names at /metrics, and the
// set of their names on the page.
func documentedMetrics(t *testing.T) (atMetrics map[string]series, names map[string]bool) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "telemetry.md"))
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `(hooklatch\\.[a-z._]+)` \\| (counter|gauge|histogram)(?:, (seconds|bytes|days|ratio))? \\| ([^|]*)\\|")
	atMetrics, names = map[string]series{}, map[string]bool{}
	for _, found := range row.FindAllStringSubmatch(string(page), -1) {
		name := strings.ReplaceAll(found[1], ".", "_")
		if found[3] != "" {
			name += "_" + found[3]
		}
		if found[2] == "counter" {
			name += "_total"
		}
		labels := regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(found[4], -1)
		one := series{kind: found[2], labels: []string{}}
		for _, label := range labels {
			one.labels = append(one.labels, label[1])
		}
		slices.Sort(one.labels)
		require.NotContains(t, atMetrics, name)
		atMetrics[name], names[found[1]] = one, true
	}
	return atMetrics, names
}

// shownMetrics returns Hooklatch's metrics at /metrics.
func shownMetrics(text string) map[string]series {
	shown := map[string]series{}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (hooklatch_\w+) (\w+)$`).FindAllStringSubmatch(text, -1) {
		shown[found[1]] = series{kind: found[2], labels: []string{}}
	}
	line := regexp.MustCompile(`(?m)^(hooklatch_\w+?)(?:_bucket|_sum|_count)?(?:\{([^}]*)\})? `)
	label := regexp.MustCompile(`(\w+)="`)
	for _, found := range line.FindAllStringSubmatch(text, -1) {
		one, known := shown[found[1]]
		if !known {
			continue
		}
		for _, name := range label.FindAllStringSubmatch(found[2], -1) {
			if name[1] != "le" && !slices.Contains(one.labels, name[1]) {
				one.labels = append(one.labels, name[1])
			}
		}
		slices.Sort(one.labels)
		shown[found[1]] = one
	}
	return shown
}

func TestTheMetricsOfARunningProgramAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	documented, _ := documentedMetrics(t)
	pool := pgtest.New(t)
	waits, err := os.ReadFile(filepath.Join("..", "..", "outbox", "measure", "testdata", "waits.sql"))
	require.NoError(t, err)
	// The waiting events get a source that the program does not have. Otherwise, on a busy machine,
	// the program could dispatch them before it counts them.
	_, err = pool.Exec(t.Context(), string(waits)+`
		UPDATE hooklatch.processed_events SET source = 'elsewhere' WHERE source = 'github' AND outcome = 'received';
		UPDATE hooklatch.destinations SET operator_paused = false; DELETE FROM hooklatch.river_leader`)
	require.NoError(t, err)
	s := clitest.NewSystem(t, clitest.SystemOptions{Pool: pool, Change: func(cfg *config.Config) { cfg.Database.SizeBudget = 1 << 40 }})
	clitest.Must(t, s.Args("send", "github", "--id", "push-1", "--times", "2")...)
	s.WaitDone(t, "github", "push-1")
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), s.Args("send", "github", "--header", "X-GitHub-Delivery=")...))
	// The same signed body is sent under another id, as an attacker who captured it would do.
	body := filepath.Join(t.TempDir(), "push.json")
	require.NoError(t, os.WriteFile(body, []byte(`{"ref":"refs/heads/main"}`), 0o600))
	for _, id := range []string{"push-2", "push-3"} {
		clitest.Must(t, s.Args("send", "github", body, "--id", id, "--header", "X-GitHub-Delivery="+id)...)
	}

	// These metrics need a fault, a shared duplicate cache, a provider's list, a sender's retry, Go
	// handlers, a flood of forgeries or expired rows.
	seldom := []string{
		"hooklatch_backfill_events_total", "hooklatch_backfill_overtaken_total", "hooklatch_backfill_requests_total", "hooklatch_backfill_throttled_seconds_total",
		"hooklatch_breaker_trips_total", "hooklatch_checks_total", "hooklatch_events_held_total", "hooklatch_events_untyped_total", "hooklatch_handler_attempts_total",
		"hooklatch_provider_retries_total", "hooklatch_quarantine_left_out_total", "hooklatch_reconciled_total", "hooklatch_rescued_total", "hooklatch_retention_deleted_total",
		"hooklatch_seen_cache_lookups_total",
	}
	// A refused delivery is stored after the response, or skipped while the machine is busy.
	require.Eventually(t, func() bool {
		_ = new(clitest.Command).Run(t.Context(), s.Args("send", "github", "--header", "X-GitHub-Delivery=")...)
		shown := shownMetrics(clitest.GetBody(t, clitest.Get(t, s.Admin+"/metrics").Body))
		for name, one := range shown {
			require.Equal(t, documented[name], one, name)
		}
		missing := slices.DeleteFunc(slices.Sorted(maps.Keys(documented)), func(name string) bool {
			_, there := shown[name]
			return there || slices.Contains(seldom, name)
		})
		t.Logf("not shown yet: %v", missing)
		return len(missing) == 0
	}, clitest.Patience, clitest.Tick)
}

// Prometheus takes a counter's first value as its start. If the counter did not exist before, the
// first failures after a start would not count.
func TestCountersThatAlertsAskForBeginAtZero(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	text := clitest.GetBody(t, clitest.Get(t, s.Admin+"/metrics").Body)
	for _, line := range []string{
		`hooklatch_rejected_total{reason="wrong_signature",source="stripe"} 0`,
		`hooklatch_rejected_total{reason="missing_token",source="twilio"} 0`,
		`hooklatch_effect_attempts_total{destination="app",first_attempt="true",outcome="pending"} 0`,
		`hooklatch_effect_attempts_total{destination="mail",first_attempt="true",outcome="failed"} 0`,
		`hooklatch_effect_abandoned_total{destination="app"} 0`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
}

// Metrics that rarely appear are found in the source code.
func TestThePageHasEveryMetric(t *testing.T) {
	t.Parallel()
	_, documented := documentedMetrics(t)
	made := map[string]bool{}
	instrument := regexp.MustCompile(`(?:Counter|Gathered|Gauge|Histogram|Seconds|Level|Total)\("(hooklatch\.[a-z._]+)"`)
	for _, wing := range []string{"gateway", "worker", "outbox", filepath.Join("internal", "program", "app")} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", wing), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, found := range instrument.FindAllStringSubmatch(string(source), -1) {
				made[found[1]] = true
			}
			return err
		}))
	}
	require.Equal(t, made, documented)
}
