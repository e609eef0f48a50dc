package console

import (
	"time"

	"github.com/hooklatch/hooklatch/outbox/find"
)

// preset is a link that fills in the beginning of a list's time range.
type preset struct {
	Words string
	Query string // query of the same list with this time range
	On    bool   // true if the list has this time range
}

// presets returns the presets of a list that has a time range.
func presets(r *request, q query) []preset {
	now := r.opts.Now().In(r.look.location())
	year, month, day := now.Date()
	list := []preset{
		q.preset("Last hour", "1h"),
		q.preset("Last 24 hours", "24h"),
		q.preset("Today", time.Date(year, month, day, 0, 0, 0, 0, now.Location()).UTC().Format(time.RFC3339)),
	}
	if s, known := r.status.Glance(badgesAgain, badgesStale); known && !s.DeployedAt.IsZero() {
		list = append(list, q.preset("Since the last deploy", s.DeployedAt.UTC().Format(time.RFC3339)))
	}
	return list
}

func (q query) preset(words, since string) preset {
	from := query{fields: q.fields, values: map[string]string{"since": since}}
	for name, value := range q.values {
		if name != "since" && name != "until" {
			from.values[name] = value
		}
	}
	return preset{Words: words, Query: from.Encode(find.Beginning), On: q.values["since"] == since && q.values["until"] == ""}
}
