package console_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/hooklatch/hooklatch/internal/program/console"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

// Alerts on the overview link to a page about their subject, if such a page exists.
func TestWhatNeedsAPersonLeadsToItsPage(t *testing.T) {
	t.Parallel()
	const subject = "app" // the name of a destination and of a source
	b := setup(t, func(o *console.Options) {
		o.Sources = func() []console.Source { return []console.Source{{Name: subject, Provider: "stripe"}} }
		o.Status = func(context.Context) (*doctor.Status, error) {
			s := new(doctor.Status)
			for _, name := range alarm.Names() {
				s.Needs = append(s.Needs, alarm.Alert{Name: name, Subject: subject, Message: "about " + name})
			}
			return s, nil
		}
	})
	page := b.page(t, "/")
	wellMade(t, "/", page)
	leads := map[string]string{}
	for _, n := range nodes(t, page) {
		if n.Data == "a" && n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
			if name, about := strings.CutPrefix(n.FirstChild.Data, "about "); about {
				leads[name] = strings.TrimPrefix(attribute(n, "href"), "/hooklatch")
			}
		}
	}
	var nowhere []string
	for _, name := range alarm.Names() {
		if leads[name] == "" {
			nowhere = append(nowhere, name)
			continue
		}
		require.Equal(t, http.StatusOK, b.get(leads[name]).Code, leads[name])
		require.Contains(t, leads[name], subject)
	}
	slices.Sort(nowhere)
	require.Equal(t, []string{"at_most_once_withheld", "cell_away", "no_worker", "partitions_missing", "retention_stopped", "size_budget", "two_configurations"}, nowhere)
	require.Equal(t, "/effects?state=failed&destination=app", leads["effects_failed"])
}
