package console

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/console/api"
	"github.com/hooklatch/hooklatch/cmd/hooklatch/status"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// maxRefused is how many refused deliveries are listed.
const maxRefused = 100

func (c *Console) quarantineFields() []field {
	return []field{
		{Name: "source", Label: "Source", Flag: "--source", Options: c.sourceNames()},
		{Name: "reason", Label: "Refused for", Flag: "--refused-for", Hint: "wrong_signature"},
	}
}

type quarantinePage struct {
	view

	Query  query
	Wrong  *invalid
	Shares []quarantine.Share
	List   []quarantine.Delivery
	All    int64 // that the filter selects
	// Commands do the same on a terminal.
	Commands []command
}

func (p quarantinePage) data() (any, error) {
	return struct {
		All    int64              `json:"all"`
		Shares []quarantine.Share `json:"shares"`
		rows[quarantine.Delivery]
	}{p.All, orEmpty(p.Shares), rows[quarantine.Delivery]{orEmpty(p.List)}}, nil
}

// Meaning is what a refusal most often means.
func (quarantinePage) Meaning(reason string) string { return status.Meaning(reason) }

func refusedFilter(q query) quarantine.Filter {
	return quarantine.Filter{Source: identity.Source(q.Get("source")), Reason: q.Get("reason")}
}

func (c *Console) readQuarantine(r *http.Request) (quarantinePage, error) {
	shown := quarantinePage{view: c.view(r, "quarantine", "Quarantine"), Query: readQuery(c.quarantineFields(), r.URL.Query())}
	var err error
	if shown.Shares, err = c.opts.Quarantine.Count(r.Context(), refusedFilter(shown.Query)); err != nil {
		return shown, err
	}
	for _, s := range shown.Shares {
		shown.All += s.Count
	}
	for _, verb := range []string{"list", "retry"} {
		shown.Commands = append(shown.Commands, command{verb, map[string]string{"list": "The same list", "retry": "Verify them again"}[verb], shown.Query.commandOf("quarantine " + verb)})
	}
	return shown, nil
}

// quarantine shows what was refused, by reason and one by one.
func (c *Console) quarantine(w http.ResponseWriter, r *http.Request) error {
	shown, err := c.readQuarantine(r)
	if err != nil {
		return err
	}
	if shown.List, err = c.opts.Quarantine.List(r.Context(), refusedFilter(shown.Query), maxRefused); err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "quarantine", shown)
}

// verify is the order to verify again what a query selects.
func (c *Console) verifyOrder(shown quarantinePage) asked {
	of := "everything in quarantine"
	if given := shown.Query.Given(); len(given) > 0 {
		var words []string
		for _, g := range given {
			words = append(words, g.Label, g.Value)
		}
		of = strings.Join(words, " ")
	}
	return asked{
		order: order{
			Name: "verify", Button: fmt.Sprintf("Verify %d again", shown.All),
			Means: "Each is verified with the secrets and settings of now, its signed time compared with that of its arrival. What is proven is accepted as if it had come again, once; what is not stays here.",
		},
		Heading: "Verify these deliveries again?", Of: of, Back: "/quarantine", Query: shown.Query.Encode(""),
	}
}

func (c *Console) askVerify(w http.ResponseWriter, r *http.Request) error {
	shown, err := c.readQuarantine(r)
	if err != nil {
		return err
	}
	return c.ask(w, r, "quarantine", c.verifyOrder(shown))
}

func (c *Console) orderVerify(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	shown, err := c.readQuarantine(r)
	if err != nil {
		return err
	}
	came, err := c.opts.Quarantine.Retry(r.Context(), refusedFilter(shown.Query).UntilNow(shown.Shares), operatorOf(r, r.PostForm.Get("reason")))
	if err != nil {
		return err
	}
	if asksData(r.Context()) {
		return api.Write(w, http.StatusOK, came)
	}
	var left int64
	for _, n := range came.Refused {
		left += n
	}
	c.seeOther(w, r, "/quarantine", fmt.Sprintf("verified%d-%d", came.Accepted+came.Duplicates, left))
	return nil
}
