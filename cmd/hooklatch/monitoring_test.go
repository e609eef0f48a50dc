package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/worker/alarm"
)

var monitoring = filepath.Join("..", "..", "docs", "monitoring")

// alertRule is one of the Prometheus rules.
type alertRule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alertRules(t *testing.T) []alertRule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(monitoring, "rules.yaml"))
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Name  string      `yaml:"name"`
			Rules []alertRule `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, yaml.UnmarshalWithOptions(text, &file, yaml.Strict(), yaml.AllowDuplicateMapKey()))
	var rules []alertRule
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	require.NotEmpty(t, rules)
	return rules
}

// dashboardPanel is the checked part of a Grafana panel.
type dashboardPanel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"` //nolint:tagliatelle // Grafana's name
	} `json:"targets"`
}

func dashboardPanels(t *testing.T) []dashboardPanel {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(monitoring, "dashboard.json"))
	require.NoError(t, err)
	var board struct {
		Title         string           `json:"title"`
		SchemaVersion int              `json:"schemaVersion"` //nolint:tagliatelle // Grafana's name
		Panels        []dashboardPanel `json:"panels"`
	}
	require.NoError(t, json.Unmarshal(text, &board))
	require.NotEmpty(t, board.Title)
	require.Positive(t, board.SchemaVersion)
	return board.Panels
}

var (
	selector   = regexp.MustCompile(`(hooklatch_\w+)(?:\{([^}]*)\})?`)
	matcher    = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping   = regexp.MustCompile(`(?:by|without|on|ignoring)\s*\(([^)]+)\)`)
	legendUses = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}`)
	ofSeries   = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// requireExported fails unless a query uses only metrics that the program exports. Grouping labels,
// and labels in the shown texts, must belong to one of the query's metrics.
func requireExported(t *testing.T, exported map[string]series, query string, shown ...string) {
	t.Helper()
	found := selector.FindAllStringSubmatch(query, -1)
	require.NotEmpty(t, found, "the query uses no metric of Hooklatch: %s", query)
	known := map[string]bool{"cell": true} // metrics of cells other than main have this label
	for _, one := range found {
		metric, isSeries := exported[one[1]]
		if !isSeries {
			metric = exported[ofSeries.ReplaceAllString(one[1], "")]
			require.Equal(t, "histogram", metric.kind, "%s is not exported; it is used in %s", one[1], query)
			known["le"] = true
		}
		for _, label := range metric.labels {
			known[label] = true
		}
		for _, label := range matcher.FindAllStringSubmatch(one[2], -1) {
			require.Contains(t, metric.labels, label[1], "%s has no such label; it is used in %s", one[1], query)
		}
	}
	for _, group := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(group[1], ",") {
			require.True(t, known[strings.TrimSpace(label)], "no metric has the label %q; it is used in %s", label, query)
		}
	}
	for _, text := range shown {
		for _, label := range legendUses.FindAllStringSubmatch(text, -1) {
			if label[1] != "value" {
				require.True(t, known[label[1]], "no metric has the label %q that is shown: %s", label[1], text)
			}
		}
	}
}

// Queries may use only the documented metrics. TestTheMetricsOfARunningProgramAreThoseOfThePage
// compares these with /metrics.
func TestRulesAndDashboardAskForWhatIsExported(t *testing.T) {
	t.Parallel()
	exported, _ := documentedMetrics(t)
	for _, rule := range alertRules(t) {
		requireExported(t, exported, rule.Expr, rule.Annotations["summary"])
	}
	queries, ids := 0, map[int]bool{}
	for _, panel := range dashboardPanels(t) {
		require.False(t, ids[panel.ID], "two panels have the id %d", panel.ID)
		ids[panel.ID] = true
		require.NotEmpty(t, panel.Title)
		require.LessOrEqual(t, panel.GridPos.X+panel.GridPos.W, 24, panel.Title)
		if panel.Type == "row" {
			continue
		}
		require.NotEmpty(t, panel.Description, panel.Title)
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			requireExported(t, exported, target.Expr, target.LegendFormat)
			queries++
		}
	}
	require.Greater(t, queries, 20)
}

// Each condition has a rule, and each rule has a section that explains what to do.
func TestEveryAlertIsExplained(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "monitoring.md"))
	require.NoError(t, err)
	// Only Prometheus can notice these conditions. A process that collects cannot report that no
	// process collects, and each process counts only its own dropped log lines.
	onlyPrometheus := []string{"no_collector", "log_dropped"}
	names := append(alarm.Names(), onlyPrometheus...)
	var ruled []string
	for _, rule := range alertRules(t) {
		page := rule.Annotations["runbook_url"]
		_, name, _ := strings.Cut(page, "#")
		require.True(t, strings.HasPrefix(page, "https://github.com/hooklatch/hooklatch/blob/main/docs/monitoring.md#"), page)
		require.Equal(t, rule.Alert, camel("hooklatch_"+name))
		require.Contains(t, string(text), "\n### "+name+"\n")
		require.Contains(t, string(text), "[`"+name+"`](#"+name+")")
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.NotEmpty(t, rule.For, rule.Alert)
		if !slices.Contains(onlyPrometheus, name) {
			require.Equal(t, string(alarm.SeverityOf(name)), rule.Labels["severity"], rule.Alert)
		}
		ruled = append(ruled, name)
	}
	slices.Sort(names)
	slices.Sort(ruled)
	require.Equal(t, names, ruled)
}

// camel converts a name to the style of Prometheus rules.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
