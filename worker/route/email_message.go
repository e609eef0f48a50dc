package route

import (
	"fmt"
	htmltemplate "html/template"
	"io"
	"strings"
	texttemplate "text/template"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/traits"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/option"
	"github.com/hooklatch/hooklatch/outbox/safetext"
	"github.com/hooklatch/hooklatch/worker/destination"
)

const (
	// renderTimeout bounds one template.
	renderTimeout = 2 * time.Second
)

// EmailMessage renders an e-mail. Its templates are Go templates over .event,
// .body, .headers and .current, named as in CEL; a missing key is an error. Rendering is
// bounded to 4 MiB and 2 seconds.
type EmailMessage struct {
	// CEL expression of the recipient's address, or of a list of addresses.
	// Required.
	Recipient string `yaml:"recipient,omitempty"`
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
	return c.Err()
}

// template is what text/template and html/template have in common.
type template interface {
	Execute(w io.Writer, data any) error
}

// emailRequest is an EmailMessage, compiled.
type emailRequest struct {
	recipient           *expression
	subject, text, html template // nil when the field is empty
}

func compileEmail(env *cel.Env, m *EmailMessage, fail failFunc) *emailRequest {
	compiled := &emailRequest{}
	if m.Recipient != "" {
		e, err := compileExpression(env, m.Recipient, wantStrings)
		if err != nil {
			fail("email.recipient", m.Recipient, err)
		}
		compiled.recipient = e
	}
	parseText := func(field, text string) template {
		if text == "" {
			return nil
		}
		t, err := texttemplate.New(field).Option("missingkey=error").Parse(text)
		if err != nil {
			fail(field, text, err)
			return nil
		}
		return t
	}
	compiled.subject = parseText("email.subject", m.Subject)
	compiled.text = parseText("email.text", m.Text)
	if m.HTML != "" {
		t, err := htmltemplate.New("email.html").Option("missingkey=error").Parse(m.HTML)
		if err != nil {
			fail("email.html", m.HTML, err)
		} else {
			compiled.html = t
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
	for _, part := range []struct {
		template template
		into     *string
	}{{m.subject, &message.Subject}, {m.text, &message.Text}, {m.html, &message.HTML}} {
		if part.template == nil {
			continue
		}
		if *part.into, err = render(part.template, data); err != nil {
			return ledger.Request{}, err
		}
	}
	// A line break in event data must not become a second header.
	message.Subject = safetext.Line(strings.Join(strings.Fields(message.Subject), " "), destination.MaxSubject)
	body, err := message.Encode()
	if err != nil {
		return ledger.Request{}, fmt.Errorf("email: %w", err)
	}
	return ledger.Request{ContentType: destination.EmailContentType, Body: body}, nil
}

// render names the template in its errors, as both packages do.
func render(t template, data any) (string, error) {
	buffer := limitedBuffer{limit: maxRendered, deadline: time.Now().Add(renderTimeout)}
	if err := t.Execute(&buffer, data); err != nil {
		return "", err
	}
	return strings.ToValidUTF8(buffer.String(), "\uFFFD"), nil
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
