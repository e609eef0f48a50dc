package console

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// maxRefused is the maximum number of refused deliveries listed.
const maxRefused = 100

func quarantineFields(r *request) []field {
	return []field{
		{Field: find.Field{Name: "source", Label: "Source"}, Options: r.sourceNames()},
		{Field: find.Field{Name: "reason", Label: "Reason", Hint: "wrong_signature"}, flag: "refused-for"},
	}
}

type quarantinePage struct {
	view

	Query  query
	Wrong  *invalid
	Shares []quarantine.Share
	List   []quarantine.Delivery
	All    int64 // number of selected deliveries
	// Commands list and verify the same deliveries.
	Commands []command
}

func (p quarantinePage) data() (any, error) {
	return struct {
		All    int64              `json:"all"`
		Shares []quarantine.Share `json:"shares"`
		rows[quarantine.Delivery]
	}{p.All, orEmpty(p.Shares), rows[quarantine.Delivery]{orEmpty(p.List)}}, nil
}

// Meaning returns the most likely cause of a refusal.
func (quarantinePage) Meaning(reason string) string { return doctor.Meaning(reason) }

func refusedFilter(q query) quarantine.Filter {
	return quarantine.Filter{Source: identity.Source(q.Get("source")), Reason: q.Get("reason")}
}

func readQuarantine(r *request) (quarantinePage, error) {
	shown := quarantinePage{view: r.view("quarantine", "Quarantine"), Query: readQuery(quarantineFields(r), r.URL.Query())}
	if shown.Query.long != nil {
		return shown, shown.Query.long
	}
	var err error
	if shown.Shares, err = r.opts.Quarantine.Count(r.Context(), refusedFilter(shown.Query)); err != nil {
		return shown, err
	}
	for _, s := range shown.Shares {
		shown.All += s.Count
	}
	for _, verb := range []string{"list", "retry"} {
		shown.Commands = append(shown.Commands, command{verb, map[string]string{"list": "This list", "retry": "Verify these deliveries again"}[verb], shown.Query.commandOf("quarantine " + verb)})
	}
	return shown, nil
}

// listQuarantine shows refused deliveries, grouped by reason and individually.
func listQuarantine(r *request) error {
	shown, err := readQuarantine(r)
	if err != nil {
		return err
	}
	if shown.List, err = r.opts.Quarantine.List(r.Context(), refusedFilter(shown.Query), maxRefused); err != nil {
		return err
	}
	for i := range shown.List {
		r.seen(shown.List[i].Source).ConcealRefused(&shown.List[i])
	}
	return r.render(http.StatusOK, "quarantine", shown)
}

// readOrder reads the selection of deliveries to verify again. It returns an error if there are
// more of them than the caller's role allows.
func readOrder(r *request) (quarantinePage, error) {
	shown, err := readQuarantine(r)
	if most := r.maxRun(); err == nil && most > 0 && shown.All > most {
		err = refusedRun(&runs.ManyError{Most: most})
	}
	return shown, err
}

// verifyOrder returns the action that verifies the selected deliveries again.
func verifyOrder(shown quarantinePage) asked {
	of := "everything in quarantine"
	if given := shown.Query.Given(); len(given) > 0 {
		var words []string
		for _, g := range given {
			words = append(words, g.Label, g.Value)
		}
		of = strings.Join(words, " ")
	}
	verb := desk.By(quarantine.ActionRetry)
	verb.Button, verb.Means = fmt.Sprintf("Verify %d again", shown.All), verb.MeansFor("Each")
	return asked{
		Verb: verb, Heading: "Verify these deliveries again?", Of: of, Back: "/quarantine", Action: "/quarantine/verify" + shown.Query.Encode(""),
	}
}

func askVerify(r *request) error {
	shown, err := readOrder(r)
	if err != nil {
		return err
	}
	return r.ask("quarantine", verifyOrder(shown))
}

func orderVerify(r *request) error {
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	shown, err := readOrder(r)
	if err != nil {
		return err
	}
	order := runs.Order{Action: quarantine.ActionRetry, Quarantine: refusedFilter(shown.Query).UntilNow(shown.Shares), Counted: shown.All}
	run, err := r.runs.Begin(r.Context(), order, r.operator(r.PostForm.Get("reason")))
	if err != nil {
		return err
	}
	r.seeOther(runPath(run.ID), "begun")
	return nil
}

// refusedPage shows one delivery in quarantine.
type refusedPage struct {
	view
	*quarantine.Delivery

	Means    string             // most likely cause of the refusal
	Now      quarantine.Verdict // result of verifying the delivery now
	Unclear  string             // why Now is unknown; empty if it is known
	Payload  pretty.Payload
	Headers  []header
	Commands []command
}

func (p refusedPage) data() (any, error) {
	return plainjson.Joined{p.Delivery, map[string]any{"now": struct {
		Proven  bool   `json:"proven"`
		Refused string `json:"refused,omitzero"`
		Unclear string `json:"unclear,omitzero"`
	}{p.Proven(), p.Now.Refused, p.Unclear}}}, nil
}

// Proven reports whether the delivery would be accepted now.
func (p refusedPage) Proven() bool { return p.Unclear == "" && p.Now.Refused == "" }

// NowMeans returns the most likely cause if the delivery would be refused now, or "".
func (p refusedPage) NowMeans() string { return doctor.Meaning(p.Now.Refused) }

func noSuchRefusal(id string) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "Not in quarantine",
		text: fmt.Sprintf("No refused delivery %s is stored. The delivery was accepted later, an operator dropped it, or it was deleted: after seven days, or earlier to make room for newer deliveries.", id),
	}
}

// readRefused reads the delivery in the URL.
func readRefused(r *request) (*quarantine.Delivery, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil || id == uuid.Nil { // a filter treats the nil id as all deliveries
		return nil, noSuchRefusal(r.PathValue("id"))
	}
	found, err := r.opts.Quarantine.Next(r.Context(), quarantine.Filter{ID: id}, quarantine.Mark{}, 1)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, noSuchRefusal(id.String())
	}
	return &found[0], nil
}

// showRefused shows one refused delivery: the reason, its likely cause, and whether it would be
// accepted now.
func showRefused(r *request) error {
	d, err := readRefused(r)
	if err != nil {
		return err
	}
	now, unclear := r.opts.Quarantine.WouldVerify(r.Context(), d)
	body := pretty.Of(d.Body, true)
	if whyNot := r.seen(d.Source).WhyNot(); whyNot != "" {
		body = pretty.Hidden(whyNot)
	} else if err := r.noteRead(d.ID.String() + "/body"); err != nil {
		return err
	}
	r.seen(d.Source).ConcealRefused(d)
	shown := refusedPage{
		view: r.view("quarantine", d.ID.String()), Delivery: d, Means: doctor.Meaning(d.Reason),
		Payload: body, Headers: headersOf(d.Headers),
		Commands: []command{
			{"show", "Show this delivery", "hooklatch quarantine show " + d.ID.String()},
			{"retry", "Verify this delivery again", "hooklatch quarantine retry " + d.ID.String()},
		},
	}
	if shown.Now = now; unclear != nil {
		shown.Unclear = unclear.Error()
	}
	return r.render(http.StatusOK, "refused", shown)
}

// refusedPath returns a refused delivery's path, relative to the console's path.
func refusedPath(id uuid.UUID) string { return "/quarantine/" + id.String() }

func verifyOneOrder(d *quarantine.Delivery) asked {
	verb := desk.By(quarantine.ActionRetry)
	verb.Button = "Verify again"
	return asked{
		Verb: verb, Heading: "Verify this delivery again?", Of: fmt.Sprintf("%s, %s, source %s", d.ID, d.Reason, d.Source), Back: refusedPath(d.ID), Action: refusedPath(d.ID) + "/verify",
	}
}

func askVerifyOne(r *request) error {
	d, err := readRefused(r)
	if err != nil {
		return err
	}
	return r.ask("quarantine", verifyOneOrder(d))
}

func orderVerifyOne(r *request) error {
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	d, err := readRefused(r)
	if err != nil {
		return err
	}
	came, err := r.opts.Quarantine.Retry(r.Context(), d.ID, r.operator(r.PostForm.Get("reason")))
	if err != nil {
		return err
	}
	if r.asData {
		return api.Write(r.w, http.StatusOK, came)
	}
	if accepted := came.Accepted + came.Duplicates; accepted > 0 {
		r.seeOther("/quarantine", fmt.Sprintf("verified%d-0", accepted))
		return nil
	}
	r.seeOther(refusedPath(d.ID), "verified0-1")
	return nil
}
