package route

import (
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	texttemplate "text/template"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/traits"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

const (
	// renderTimeout is the maximum time for one template.
	renderTimeout = 2 * time.Second
)

// EmailMessage renders an email. Its templates are Go templates over .event, .body, .headers and
// .current, named as in CEL, and .values. A missing key is an error, and so is a value that does
// not fit its format. Each rendered template has at most 4 MiB and takes at most 2 seconds.
type EmailMessage struct {
	// CEL expression that returns the recipient's address, or a list of addresses. Required.
	Recipient string `yaml:"recipient,omitempty"`
	// CEL expressions by name, for texts and whole numbers that templates cannot compute: templates
	// use `amount: money(body.total, body.currency)` as `.values.amount`.
	Values map[string]string `yaml:"values,omitempty"`
	// Go template of the subject; the result becomes one line. Required.
	Subject string `yaml:"subject,omitempty"`
	// Go template of the text body. At least one of text and html is given.
	Text string `yaml:"text,omitempty"`
	// Go template of the HTML body.
	HTML string `yaml:"html,omitempty"`
}

func (m *EmailMessage) validate() error {
	var c option.Check
	if m.Recipient == "" {
		c.Missing("recipient", "has no recipient")
	}
	if m.Subject == "" {
		c.Missing("subject", "has no subject")
	}
	if m.Text == "" && m.HTML == "" {
		c.Missing("text", "has no body; give text, html or both")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Values)) {
		if !valueName.MatchString(name) {
			c.Failf("values", nil, "%q is not a name for a value: letters, digits and _ are allowed, and the first must not be a digit", name)
		}
	}
	return c.Err()
}

// valueName matches names that are valid after .values in a template.
var valueName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// template is a text/template or an html/template, with its source.
type template struct {
	source   string
	compiled interface {
		Execute(w io.Writer, data any) error
	}
}

// emailRequest is a compiled EmailMessage.
type emailRequest struct {
	recipient           *expression
	values              map[string]*expression
	subject, text, html *template // nil when the field is empty
	computesLayout      bool
}

// pipe records whether a pipeline of a template computes the layout of a time.
func (m *emailRequest) pipe(text string) { m.computesLayout = m.computesLayout || computesLayout(text) }

func compileEmail(env *cel.Env, m *EmailMessage, fail failFunc) *emailRequest {
	compiled := &emailRequest{values: make(map[string]*expression, len(m.Values))}
	compile := func(field, text string, want wanted) *expression {
		e, err := compileExpression(env, text, want)
		if err != nil {
			fail(field, text, err)
		}
		return e
	}
	if m.Recipient != "" {
		compiled.recipient = compile("email.recipient", m.Recipient, wantStrings)
	}
	for name, text := range m.Values {
		compiled.values[name] = compile("email.values."+name, text, wantText)
	}
	parseText := func(field, text string) *template {
		if text == "" {
			return nil
		}
		t, err := texttemplate.New(field).Funcs(templateFuncs).Option("missingkey=error").Parse(text)
		if err != nil {
			fail(field, text, err)
			return nil
		}
		for _, one := range t.Templates() {
			ticks(one.Root, compiled.pipe)
		}
		return &template{source: text, compiled: t}
	}
	compiled.subject = parseText("email.subject", m.Subject)
	compiled.text = parseText("email.text", m.Text)
	if m.HTML != "" {
		t, err := htmltemplate.New("email.html").Funcs(templateFuncs).Option("missingkey=error").Parse(m.HTML)
		if err != nil {
			fail("email.html", m.HTML, err)
		} else {
			for _, one := range t.Templates() {
				ticks(one.Tree.Root, compiled.pipe)
			}
			compiled.html = &template{source: m.HTML, compiled: t}
		}
	}
	return compiled
}

func (m *emailRequest) build(scope *eventScope) (ledger.Request, error) {
	to, err := m.recipients(scope)
	if err != nil {
		return ledger.Request{}, fmt.Errorf("email.recipient: %w", err)
	}
	message := destination.Message{To: to}
	data, err := scope.templateData()
	if err != nil {
		return ledger.Request{}, fmt.Errorf("email: %w", err)
	}
	values := make(map[string]any, len(m.values))
	for _, name := range slices.Sorted(maps.Keys(m.values)) {
		if values[name], err = m.values[name].evalText(scope); err != nil {
			return ledger.Request{}, fmt.Errorf("email.values.%s: %w", name, err)
		}
	}
	data["values"] = values
	for _, part := range []struct {
		template *template
		into     *string
	}{{m.subject, &message.Subject}, {m.text, &message.Text}, {m.html, &message.HTML}} {
		if part.template == nil {
			continue
		}
		if *part.into, err = part.template.render(data); err != nil {
			return ledger.Request{}, err
		}
	}
	// A line break in event data must not start a second header.
	message.Subject = safetext.Line(strings.Join(strings.Fields(message.Subject), " "), destination.MaxSubject)
	body, err := message.Encode()
	if err != nil {
		return ledger.Request{}, fmt.Errorf("email: %w", err)
	}
	return ledger.Request{ContentType: destination.EmailContentType, Body: body}, nil
}

// misfit matches the text that fmt writes for a value that its verb cannot print.
var misfit = regexp.MustCompile(`%![a-zA-Z]?\(`)

// render executes the template. Errors in the template contain its name, which both template
// packages add. Errors about size, time or a printf format may lack the name.
func (t *template) render(data any) (string, error) {
	buffer := limitedBuffer{limit: maxRendered, deadline: time.Now().Add(renderTimeout)}
	if err := t.compiled.Execute(&buffer, data); errors.Is(err, errTooLarge) || errors.Is(err, errTooSlow) {
		return "", err
	} else if err != nil {
		return "", withoutValues(err, t.source)
	}
	text := buffer.String()
	if strings.Contains(t.source, "printf") && misfit.MatchString(text) {
		return "", errors.New("printf: a format does not fit its value; email.values has expressions and money() for it")
	}
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

func (m *emailRequest) recipients(scope *eventScope) ([]string, error) {
	value, err := m.recipient.eval(scope)
	if err != nil {
		return nil, err
	}
	var to []string
	switch v := value.(type) {
	case types.String:
		to = []string{string(v)}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			item := it.Next()
			address, ok := item.(types.String)
			if !ok {
				return nil, typeError(item, wanted{name: "string"})
			}
			to = append(to, string(address))
		}
	default:
		return nil, typeError(value, wantStrings)
	}
	return to, nil
}
