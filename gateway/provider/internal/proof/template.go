package proof

import (
	"hash"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// Placeholders in a template.
const (
	InTimestamp = "{ts}"
	InID        = "{id}"
	InBody      = "{body}"
	InURL       = "{url}"
	InMethod    = "{method}"
)

// Placeholders is the list of placeholders, for use in messages.
const Placeholders = "{ts}, {id}, {body}, {url} and {method}"

// Template is the signed text: literal parts and placeholders, in order.
type Template []string

// ParseTemplate splits s at its placeholders. It returns false if a brace belongs to no
// placeholder.
func ParseTemplate(s string) (Template, bool) {
	var parts Template
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
		case InTimestamp, InID, InBody, InURL, InMethod:
			parts, s = append(parts, s[:end]), s[end:]
		default:
			return nil, false
		}
	}
	return parts, true
}

// Has reports whether a placeholder is part of the signed text.
func (t Template) Has(placeholder string) bool { return slices.Contains(t, placeholder) }

// after returns the literal text after a placeholder, or "" if there is none. If the placeholder's
// value contained that text, the signed text could be split in two ways, so one signature would fit
// two requests.
func (t Template) after(placeholder string) string {
	for i, part := range t[:max(0, len(t)-1)] {
		if part == placeholder && t[i+1][0] != '{' {
			return t[i+1]
		}
	}
	return ""
}

// Text returns the signed text.
func (t Template) Text(r *provider.Request, timestamp, id string) []byte {
	var text []byte
	for _, part := range t {
		text = append(text, valueOf(part, r, timestamp, id)...)
	}
	return text
}

// write feeds the signed text into mac, without copying the body.
func (t Template) write(mac hash.Hash, r *provider.Request, timestamp, id string) {
	for _, part := range t {
		mac.Write(valueOf(part, r, timestamp, id))
	}
}

// valueOf returns the value of one template part.
func valueOf(part string, r *provider.Request, timestamp, id string) []byte {
	switch part {
	case InTimestamp:
		return []byte(timestamp)
	case InID:
		return []byte(id)
	case InBody:
		return r.Body
	case InURL:
		return []byte(r.URL.String())
	case InMethod:
		return []byte(r.Method)
	}
	return []byte(part)
}
