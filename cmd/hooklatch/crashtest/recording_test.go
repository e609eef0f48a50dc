package crashtest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// step is the interval that a recording assumes between two scrapes, whatever time passed between
// them.
const step = 30 * time.Second

// collectedAt is the one metric whose value is a time.
const collectedAt = "hooklatch_collected_timestamp_seconds"

// recording contains scraped metrics. The alert rules are evaluated as if successive scrapes were
// one [step] apart.
type recording struct {
	steps  int
	series map[string][]string // values by name and labels, one for each step
}

var sample = regexp.MustCompile(`(?m)^(hooklatch_\w+)(?:\{(.*)\})? (\S+)$`)

// scrape adds a step with the current metrics of each process. The series of a process that does
// not respond become stale.
func (r *recording) scrape(t *testing.T, fleet map[string]*process) {
	t.Helper()
	now := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(fleet)) {
		for _, found := range sample.FindAllStringSubmatch(fleet[name].metrics(t), -1) {
			metric, labels, value := found[1], found[2], found[3]
			if strings.HasSuffix(metric, "_bucket") {
				continue // no rule uses these
			}
			if metric == collectedAt { // recorded as an age, in seconds
				at, err := strconv.ParseFloat(value, 64)
				require.NoError(t, err)
				value = strconv.FormatFloat(time.Since(time.UnixMilli(int64(at*1000))).Seconds(), 'f', 3, 64)
			}
			if labels != "" {
				labels += ","
			}
			now[metric+"{"+labels+`instance="`+name+`"}`] = value
		}
	}
	r.add(now)
}

// add adds a step with the given values by series; the values of collectedAt are ages in seconds. A
// series that has no value now, but had one in the step before, becomes stale.
func (r *recording) add(now map[string]string) {
	if r.series == nil {
		r.series = map[string][]string{}
	}
	for series := range now {
		if _, known := r.series[series]; !known {
			r.series[series] = slices.Repeat([]string{"_"}, r.steps)
		}
	}
	for series, values := range r.series {
		value, there := now[series]
		switch {
		case there && strings.HasPrefix(series, collectedAt):
			ago, _ := strconv.ParseFloat(value, 64)
			value = strconv.FormatFloat((time.Duration(r.steps)*step).Seconds()-ago, 'f', 3, 64)
		case !there && len(values) > 0 && values[len(values)-1] != "_" && values[len(values)-1] != "stale":
			value = "stale"
		case !there:
			value = "_"
		}
		r.series[series] = append(values, value)
	}
	r.steps++
}

// hold repeats the last scrape for the duration d.
func (r *recording) hold(d time.Duration) {
	now := map[string]string{}
	for series, values := range r.series {
		last := values[len(values)-1]
		if last == "_" || last == "stale" {
			continue
		}
		if strings.HasPrefix(series, collectedAt) {
			at, _ := strconv.ParseFloat(last, 64)
			last = strconv.FormatFloat((time.Duration(r.steps-1)*step).Seconds()-at, 'f', 3, 64)
		}
		now[series] = last
	}
	for range d / step {
		r.add(now)
	}
}

// at returns the time of the last step.
func (r *recording) at() time.Duration { return time.Duration(r.steps-1) * step }

// firing is an expectation: exactly the given alerts are firing at a time. If ever is true, exactly
// the given alerts have fired by that time, even if they have resolved.
type firing struct {
	at     time.Duration
	ever   bool
	alerts []string // NAME, or NAME/LABEL=VALUE with the label destination or source
}

// promtool returns the path of promtool, and skips the test if it is not installed. CI must have
// it.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "install Debian's package prometheus: %s", err)
		t.Skip("promtool is not installed: Debian has it in the package prometheus")
	}
	return path
}

// judge evaluates the alert rules over the recording with promtool, and requires the expected
// alerts.
func (r *recording) judge(t *testing.T, expected ...firing) {
	t.Helper()
	rules, err := filepath.Abs("../../../docs/monitoring/rules.yaml")
	require.NoError(t, err)
	type of = map[string]any
	var inputs, questions []of
	for _, series := range slices.Sorted(maps.Keys(r.series)) {
		inputs = append(inputs, of{"series": series, "values": strings.Join(r.series[series], " ")})
	}
	for _, e := range expected {
		samples := []of{}
		for _, alert := range e.alerts {
			name, subject, _ := strings.Cut(alert, "/")
			labels := fmt.Sprintf("alertname=%q", name)
			if kind, subject, ok := strings.Cut(subject, "="); ok {
				labels += fmt.Sprintf(",%s=%q", kind, subject)
			}
			samples = append(samples, of{"labels": "{" + labels + "}", "value": 1})
		}
		query := `count by (alertname, destination, source) (ALERTS{alertstate="firing"})`
		if e.ever {
			query = `count by (alertname, destination, source) (max_over_time(ALERTS{alertstate="firing"}[1d]))`
		}
		questions = append(questions, of{"expr": query, "eval_time": e.at.String(), "exp_samples": samples})
	}
	text, err := yaml.Marshal(of{
		"rule_files": []string{rules}, "evaluation_interval": step.String(),
		"tests": []of{{"interval": step.String(), "input_series": inputs, "promql_expr_test": questions}},
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "recording.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	output, err := exec.CommandContext(t.Context(), promtool(t), "test", "rules", file).CombinedOutput()
	require.NoError(t, err, "%s", output)
}
