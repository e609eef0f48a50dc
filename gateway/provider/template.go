package provider

import (
	"hash"
	"slices"
	"strings"
)

// Placeholders of a template.
const (
	inTimestamp = "{ts}"
	inID        = "{id}"
	inBody      = "{body}"
	inURL       = "{url}"
	inMethod    = "{method}"
)

const placeholders = "{ts}, {id}, {body}, {url} and {method}"

// template is what a scheme signs: literal texts and placeholders, in order.
type template []string

// parseTemplate splits s at its placeholders. It returns false for a brace
// that is part of none.
func parseTemplate(s string) (template, bool) {
	var parts template
	for s != "" {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			open = len(s)
		}
		if open > 0 {
			if strings.IndexByte(s[:open], '}') >= 0 {
				return nil, false
			}
			parts, s = append(parts, s[:open]), s[open:]
			continue
		}
		end := strings.IndexByte(s, '}') + 1
		switch s[:end] {
		case inTimestamp, inID, inBody, inURL, inMethod:
			parts, s = append(parts, s[:end]), s[end:]
		default:
			return nil, false
		}
	}
	return parts, true
}

func (t template) has(placeholder string) bool { return slices.Contains(t, placeholder) }

// after returns the literal text behind a placeholder. A value that contains
// it could be cut in two ways, so that one signature would fit two requests.
func (t template) after(placeholder string) string {
	for i, part := range t[:max(0, len(t)-1)] {
		if part == placeholder && t[i+1][0] != '{' {
			return t[i+1]
		}
	}
	return ""
}

// text returns what is signed.
func (t template) text(r *Request, timestamp, id string) []byte {
	var text []byte
	for _, part := range t {
		text = append(text, valueOf(part, r, timestamp, id)...)
	}
	return text
}

// write feeds what is signed into mac, without copying the body.
func (t template) write(mac hash.Hash, r *Request, timestamp, id string) {
	for _, part := range t {
		mac.Write(valueOf(part, r, timestamp, id))
	}
}

// valueOf returns what a part of a template stands for.
func valueOf(part string, r *Request, timestamp, id string) []byte {
	switch part {
	case inTimestamp:
		return []byte(timestamp)
	case inID:
		return []byte(id)
	case inBody:
		return r.Body
	case inURL:
		return []byte(r.URL.String())
	case inMethod:
		return []byte(r.Method)
	}
	return []byte(part)
}
