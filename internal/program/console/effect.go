package console

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/internal/program/routes"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

type effectPage struct {
	view
	life.Effect

	Meaning  string
	Blocked  string // what blocks the destination; empty if nothing does
	OfEvent  bool
	Routed   bool // the configuration of this process has the effect's route
	Payload  pretty.Payload
	Late     bool // if true, the first attempt renders the request
	Headers  []header
	Offers   []offer
	Job      string // URL in River UI
	Commands []command
}

func (p effectPage) data() (any, error) { return p.Data(), nil }

// Answered returns the status with which the receiver answered the last attempt, or 0.
func (p effectPage) Answered() int {
	if len(p.Attempts) == 0 {
		return 0
	}
	return p.Attempts[len(p.Attempts)-1].ResponseStatus
}

// blockedBy returns what blocks an effect's next attempt at its destination. It returns "" if
// nothing does, or if the effect is finished.
func blockedBy(r *request, e ledger.Effect) (string, error) {
	if e.State.Finished() {
		return "", nil
	}
	known, err := r.opts.Outbox.Fleet().Destinations(r.Context())
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(known, func(d fleet.DestinationState) bool { return d.Name == e.Destination })
	if at < 0 {
		return "", nil
	}
	switch d := known[at]; {
	case d.OperatorPaused:
		return "the destination is paused by " + d.PausedBy + life.ReasonSuffix(d.PauseReason), nil
	case d.Breaker == fleet.BreakerHalfOpen:
		return "the destination's breaker is open, and a probe is in flight", nil
	case d.Breaker != fleet.BreakerClosed:
		return "the destination's breaker is open, and the next probe is " + (view{Now: r.opts.Now()}).Due(d.ProbeAt), nil
	case d.ServedBy == 0:
		return "no running process serves the destination", nil
	}
	return "", nil
}

// Line describes an attempt in one line.
func (p effectPage) Line(a ledger.Attempt) string { return life.AttemptLine(a) }

// Step describes a state change in one line.
func (p effectPage) Step(t ledger.Transition) string { return life.TransitionLine(t) }

func noSuchEffect(key string) *problem {
	return &problem{
		status: http.StatusNotFound, heading: "Effect not found",
		text: fmt.Sprintf("No effect has the key %s, or the effect was deleted after its retention: retention.history in the configuration sets how long effects are kept.", key),
	}
}

// readEffect reads the effect in the URL.
func readEffect(r *request) (life.Effect, error) {
	key := r.PathValue("key")
	if !storable(key) {
		return life.Effect{}, noSuchEffect(key)
	}
	e, err := life.ReadEffect(r.Context(), r.opts.Outbox, key)
	if errors.Is(err, ledger.ErrNotFound) {
		return e, noSuchEffect(key)
	}
	return e, err
}

func subjectOfEffect(e ledger.Effect) subject {
	return subject{
		Target: desk.Target{Name: e.IdempotencyKey}, State: string(e.State), Back: effectPath(e.IdempotencyKey), effect: &e, noSuch: noSuchEffect(e.IdempotencyKey),
		Of:    middle(e.IdempotencyKey) + " to " + e.Destination + ", " + pretty.Effect(e.State).Word,
		wrong: func(v desk.Verb) error { return &ledger.StateError{Action: v.Action, State: e.State} },
	}
}

// effectSubject returns the effect in the URL as the subject of operator actions.
func effectSubject(r *request) (subject, error) {
	e, err := readEffect(r)
	return subjectOfEffect(e.Effect), err
}

// showEffect shows one effect, with its attempts and its request.
func showEffect(r *request) error {
	e, err := readEffect(r)
	if err != nil {
		return err
	}
	stored, err := loadBody(r, &e.Effect)
	if err != nil {
		return err
	}
	s := r.seen(e.Event.Source)
	body := pretty.Of(e.Request.Body, stored)
	switch {
	case stored && s.WhyNot() != "":
		body, stored = pretty.Hidden(s.WhyNot()), false
	case stored, s.ShowsResponse(e):
		if err := r.noteRead(e.IdempotencyKey + "/body"); err != nil {
			return err
		}
	}
	s.ConcealEffect(&e)
	blocked, err := blockedBy(r, e.Effect)
	if err != nil {
		return err
	}
	shown := effectPage{
		view: r.view("effects", e.IdempotencyKey), Effect: e, Meaning: life.Meaning(e.Effect), Blocked: blocked,
		OfEvent: e.Event != (identity.EventRef{}), Payload: body, Late: e.Request.Late,
		Headers: headersOf(e.Request.Headers), Offers: subjectOfEffect(e.Effect).offers(desk.Effects), Commands: commandsOfEffect(e.Effect, stored),
	}
	shown.Routed = slices.ContainsFunc(r.currentRoutes().List, func(one routes.Route) bool { return one.Name == e.Route })
	if r.opts.RiverUI != "" && e.JobID != 0 {
		shown.Job = fmt.Sprintf("%s/jobs/%d", strings.TrimSuffix(r.opts.RiverUI, "/"), e.JobID)
	}
	return r.render(http.StatusOK, "effect", shown)
}

// loadBody reads the request body, and reports whether it is stored.
func loadBody(r *request, e *ledger.Effect) (bool, error) {
	if !e.ErasedAt.IsZero() || e.Request.Late {
		return false, nil
	}
	if err := r.place.take(r.Context()); err != nil {
		return false, err
	}
	err := r.ledger.ShowBody(r.Context(), e)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// sendBody sends the exact bytes that each attempt sends (I7).
func sendBody(r *request) error {
	e, err := readEffect(r)
	if err != nil {
		return err
	}
	stored, err := loadBody(r, &e.Effect)
	if err != nil {
		return err
	}
	if !stored {
		return &problem{
			status: http.StatusGone, heading: "The body is not stored",
			text: "The body has not been rendered yet (the first attempt renders it), was deleted with its delivery after retention, or was erased. The effect's page says which.",
		}
	}
	if err := r.seen(e.Event.Source).Whole(); err != nil {
		return err
	}
	if err := r.noteRead(e.IdempotencyKey + "/body"); err != nil {
		return err
	}
	writeBytes(r.w, e.IdempotencyKey, e.Request.Body)
	return nil
}

// maxCurlBody is the size in bytes above which a body has no curl command. Linux accepts arguments
// of up to 128 KiB, and quotes or base64 make the argument longer. A larger body can still be
// downloaded from the page.
const maxCurlBody = 64 << 10

func commandsOfEffect(e ledger.Effect, stored bool) []command {
	list := []command{{"show", "Show this effect", "hooklatch effects show " + safetext.Operands(e.IdempotencyKey)}}
	for _, o := range subjectOfEffect(e).offers(desk.Effects) {
		text := "hooklatch effects " + o.Name + " " + safetext.Operands(e.IdempotencyKey)
		if o.TakesRequest {
			text += " --edit --reason WHY"
		}
		list = append(list, command{o.Name, o.Button, text})
	}
	if stored && strings.HasPrefix(e.Request.URL, "http") && len(e.Request.Body) <= maxCurlBody {
		list = append(list, command{"curl", "Send the same request manually, without the destination's credentials", curl(e)})
	}
	return list
}

// curl returns a shell command that sends an effect's request. Each attempt adds credentials, which
// are not part of the command.
func curl(e ledger.Effect) string {
	words := []string{"curl", "--globoff", "--request", safetext.Shell(e.Request.Method), "--url", safetext.Shell(e.Request.URL), "--header", safetext.Shell("Idempotency-Key: " + e.WireKey)}
	if e.Request.ContentType != "" {
		words = append(words, "--header", safetext.Shell("Content-Type: "+e.Request.ContentType))
	}
	for _, h := range headersOf(e.Request.Headers) {
		if !slices.Contains([]string{"Content-Type", "Idempotency-Key"}, h.Name) {
			words = append(words, "--header", safetext.Shell(h.Name+": "+h.Value))
		}
	}
	body := e.Request.Body
	if utf8.Valid(body) && !strings.ContainsRune(string(body), 0) {
		return strings.Join(append(words, "--data-raw", safetext.Shell(string(body))), " ")
	}
	return "base64 --decode <<< " + safetext.Shell(base64.StdEncoding.EncodeToString(body)) + " | " + strings.Join(append(words, "--data-binary", "@-"), " ")
}
