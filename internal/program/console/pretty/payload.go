// Package pretty renders states and untrusted bytes in a page: readable, and never as markup.
package pretty

import (
	"encoding/hex"
	"encoding/json"
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

const (
	// maxPayload is the maximum number of payload bytes shown: a browser takes more than a second
	// to render a megabyte.
	maxPayload = 256 << 10
	// maxDepth is the maximum nesting of foldable JSON. More deeply nested JSON is shown as text.
	maxDepth = 64
	// maxHex is the maximum number of bytes of a binary payload that are shown.
	maxHex = 4 << 10
)

// Payload is the displayed form of an event's or a request's bytes.
type Payload struct {
	Stored bool
	Size   int
	Cut    bool
	HTML   template.HTML // JSON, in foldable parts
	Text   string        // any other content
	Binary bool          // true if Text is a hex dump
	WhyNot string        // why the payload is not shown; empty if it is shown
}

// Hidden returns a placeholder for a payload that the user must not see, with the reason.
func Hidden(whyNot string) Payload { return Payload{WhyNot: whyNot} }

// Of renders a body, or nothing if it is not stored.
func Of(body []byte, stored bool) Payload {
	p := Payload{Stored: stored, Size: len(body)}
	switch {
	case !stored:
	case !utf8.Valid(body):
		p.Binary, p.Cut = true, len(body) > maxHex
		p.Text = hex.Dump(body[:min(len(body), maxHex)])
	case len(body) > maxPayload:
		p.Cut = true
		p.Text = strings.ToValidUTF8(string(body[:maxPayload]), "")
	case json.Valid(jsonpointer.WithoutMark(body)):
		if t := (&tokens{in: jsonpointer.WithoutMark(body)}); t.value(0) {
			p.HTML = template.HTML(t.out.String()) //nolint:gosec // every byte of the payload went through escape
			break
		}
		p.Text = string(body)
	default:
		p.Text = string(body)
	}
	return p
}

// tokens renders valid JSON with foldable objects and lists, one value per line. Numbers, order and
// repeated keys stay as received.
type tokens struct {
	in  []byte
	out strings.Builder
}

func (t *tokens) space() {
	for len(t.in) > 0 && strings.IndexByte(" \t\r\n", t.in[0]) >= 0 {
		t.in = t.in[1:]
	}
}

// value writes the next value, or returns false if the value is nested too deeply.
func (t *tokens) value(depth int) bool {
	t.space()
	switch t.in[0] {
	case '{', '[':
		return t.group(depth)
	case '"':
		t.token("text", t.stringLen())
	case 't', 'f', 'n':
		t.token("word", t.wordLen())
	default:
		t.token("figure", t.wordLen())
	}
	return true
}

// token writes the next length bytes as a token with the CSS class kind.
func (t *tokens) token(kind string, length int) {
	t.out.WriteString(`<span class="` + kind + `">` + template.HTMLEscapeString(string(t.in[:length])) + `</span>`)
	t.in = t.in[length:]
}

func (t *tokens) stringLen() int {
	for i := 1; i < len(t.in); i++ {
		switch t.in[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(t.in)
}

func (t *tokens) wordLen() int {
	for i, b := range t.in {
		if strings.IndexByte(",]} \t\r\n", b) >= 0 {
			return i
		}
	}
	return len(t.in)
}

// group writes an object or a list, or returns false if it is nested too deeply.
func (t *tokens) group(depth int) bool {
	if depth == maxDepth {
		return false
	}
	opening, closing := t.in[0], t.in[0]+2 // { and }, [ and ]
	t.in = t.in[1:]
	t.space()
	if t.in[0] == closing {
		t.in = t.in[1:]
		t.out.WriteByte(opening)
		t.out.WriteByte(closing)
		return true
	}
	t.out.WriteString("<details open><summary>" + string(opening) + "</summary>\n")
	indent := strings.Repeat("  ", depth+1)
	for {
		t.out.WriteString(indent)
		if t.space(); opening == '{' {
			t.token("key", t.stringLen())
			t.space()
			t.in = t.in[1:] // skips the colon
			t.out.WriteString(": ")
		}
		if !t.value(depth + 1) {
			return false
		}
		t.space()
		last := t.in[0] == closing
		t.in = t.in[1:]
		if last {
			t.out.WriteString("\n" + indent[2:] + "</details>" + string(closing))
			return true
		}
		t.out.WriteString(",\n")
	}
}
