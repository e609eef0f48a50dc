package desk

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// MaxEdited is the maximum size of a body that a page edits, in bytes. A form encodes one byte as
// up to three bytes, and the listener limits the size of a form.
const MaxEdited = 16 << 10

// headerOfType is the header whose value a ledger.Request stores in ContentType instead of Headers.
const headerOfType = "Content-Type"

// HeaderLines returns a request's headers as text, one header per line.
func HeaderLines(r ledger.Request) string {
	var b strings.Builder
	if r.ContentType != "" {
		fmt.Fprintf(&b, "%s: %s\n", headerOfType, r.ContentType)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		for _, value := range r.Headers[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	return b.String()
}

// EditHeaders sets the headers of c from an edited text, unless the text is unchanged. A header
// that the request already has with the same value is accepted. Any other header must be one that a
// route may set.
func EditHeaders(c *ledger.Resend, text string, of ledger.Request) error {
	text = lines(text)
	if text == lines(HeaderLines(of)) {
		return nil
	}
	edited := ledger.Resend{ContentType: new(string), Headers: map[string][]string{}}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, is := strings.Cut(line, ":")
		if name, value = strings.TrimSpace(name), strings.TrimSpace(value); !is {
			return fmt.Errorf("the header line %q has no colon: write NAME: VALUE", safetext.Line(line, 64))
		}
		if err := addHeader(edited, name, value, of); err != nil {
			return err
		}
	}
	c.ContentType, c.Headers = edited.ContentType, edited.Headers
	return nil
}

func addHeader(to ledger.Resend, name, value string, of ledger.Request) error {
	if !slices.Contains(of.Headers[name], value) {
		if err := destination.CheckHeader(name, value); err != nil {
			return err
		}
	}
	if http.CanonicalHeaderKey(name) == headerOfType {
		*to.ContentType = value
		return nil
	}
	to.Headers[name] = append(to.Headers[name], value)
	return nil
}

// IsText reports whether a body can be edited as text.
func IsText(body []byte) bool {
	return len(body) <= MaxEdited && utf8.Valid(body) && !slices.Contains(body, 0)
}

// EditBody compares a body from a browser with the original, and adds it to c if it was edited.
// Because a browser changes line breaks, a text that differs only in line breaks counts as
// unchanged. If all line breaks of the original are CR LF, the edited body gets CR LF too.
func EditBody(c *ledger.Resend, text string, of []byte) {
	edited := lines(text)
	if edited == lines(string(of)) {
		return
	}
	if n := strings.Count(string(of), "\n"); n > 0 && n == strings.Count(string(of), "\r\n") {
		edited = strings.ReplaceAll(edited, "\n", "\r\n")
	}
	c.Body = []byte(edited)
}

// lines returns a text whose lines end with a line feed alone.
func lines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}
