package jsonpointer

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// maxDepth limits the nesting of lists and objects. encoding/json has the same limit.
const maxDepth = 10_000

// maxMembers is the maximum number of members in the index of a Text. An object with more members
// gets no index.
const maxMembers = 128

// Text is parsed JSON with an index of its outermost object's members. A pointer to one of
// them needs no second parse.
type Text struct {
	text    []byte
	members []place // nil if the text is not an object or has too many members
	root    gjson.Result
}

// place is the position of a name, without quotes, and of its value.
type place struct{ name, nameEnd, value, valueEnd int32 }

// Read parses text and reports whether it is JSON, as encoding/json.Valid does. A leading byte
// order mark is skipped. The text must not be changed afterwards.
func Read(text []byte) (*Text, bool) {
	text = WithoutMark(text)
	r := reader{text: text}
	start := r.space(0)
	if start < len(text) && text[start] == '{' {
		r.members = make([]place, 0, 16)
	}
	end := r.value(start, 0)
	if end < 0 || r.space(end) != len(text) {
		return nil, false
	}
	return &Text{text: text, members: r.members}, true
}

// Root returns the outermost value.
func (t *Text) Root() gjson.Result {
	if t.root.Type == gjson.Null { // not parsed yet, or null, which is quick to parse again
		t.root = gjson.ParseBytes(t.text)
	}
	return t.root
}

// Lookup follows a pointer from the root, as the function Lookup does.
func (t *Text) Lookup(pointer string) gjson.Result {
	if pointer == "" || pointer[0] != '/' || t.members == nil {
		return Lookup(t.Root(), pointer)
	}
	name, rest := next(pointer)
	for _, m := range slices.Backward(t.members) { // among equal names the last one counts
		if t.isNamed(m, name) {
			return Lookup(t.at(m), rest)
		}
	}
	return gjson.Result{}
}

// at returns a member's value. Most values are whole numbers, or strings without escapes, and need
// no parser.
func (t *Text) at(m place) gjson.Result {
	raw := string(t.text[m.value:m.valueEnd])
	switch {
	case raw[0] == '"' && strings.IndexByte(raw, '\\') < 0:
		return gjson.Result{Type: gjson.String, Raw: raw, Str: raw[1 : len(raw)-1]}
	case isDigit(raw[0]):
		if n, err := strconv.ParseUint(raw, 10, 64); err == nil {
			return gjson.Result{Type: gjson.Number, Raw: raw, Num: float64(n)}
		}
	}
	return gjson.Parse(raw)
}

func (t *Text) isNamed(m place, name string) bool {
	raw := t.text[m.name:m.nameEnd]
	switch {
	case len(raw) > 0 && name != "" && raw[0] != name[0] && raw[0] != '\\':
		return false
	case bytes.IndexByte(raw, '\\') < 0:
		return string(raw) == name
	}
	return gjson.ParseBytes(t.text[m.name-1:m.nameEnd+1]).Str == name
}

// reader checks JSON. The methods for an element, such as value, take the position at which the
// element, or the rest of it, begins. The methods return the position at which the element ends, or
// -1 if the element is not valid.
type reader struct {
	text    []byte
	members []place // the outermost object's members; nil: not needed
	every   bool    // true if an index matches every item in its list
}

func (r *reader) space(i int) int {
	for i < len(r.text) && (r.text[i] == ' ' || r.text[i] == '\n' || r.text[i] == '\r' || r.text[i] == '\t') {
		i++
	}
	return i
}

func (r *reader) value(i, depth int) int {
	if i >= len(r.text) {
		return -1
	}
	switch c := r.text[i]; {
	case c == '"':
		return r.str(i + 1)
	case c == '{' && depth < maxDepth:
		return r.object(i+1, depth+1)
	case c == '[' && depth < maxDepth:
		return r.list(i+1, depth+1)
	case c == '-' || isDigit(c):
		return r.number(i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if end := i + len(word); end <= len(r.text) && string(r.text[i:end]) == word {
			return end
		}
	}
	return -1
}

func (r *reader) object(i, depth int) int {
	if i = r.space(i); r.is(i, '}') {
		return i + 1
	}
	for {
		if !r.is(i, '"') {
			return -1
		}
		m := place{name: int32(i + 1)} //nolint:gosec // bodies are far smaller than 2 GiB
		if i = r.str(i + 1); i < 0 {
			return -1
		}
		m.nameEnd = int32(i - 1) //nolint:gosec // as above
		if i = r.space(i); !r.is(i, ':') {
			return -1
		}
		i = r.space(i + 1)
		m.value = int32(i) //nolint:gosec // as above
		if i = r.value(i, depth); i < 0 {
			return -1
		}
		m.valueEnd = int32(i) //nolint:gosec // as above
		if depth == 1 {
			r.remember(m)
		}
		if i = r.space(i); r.is(i, '}') {
			return i + 1
		}
		if !r.is(i, ',') {
			return -1
		}
		i = r.space(i + 1)
	}
}

func (r *reader) remember(m place) {
	switch {
	case r.members == nil:
	case len(r.members) == maxMembers:
		r.members = nil
	default:
		r.members = append(r.members, m)
	}
}

func (r *reader) list(i, depth int) int {
	if i = r.space(i); r.is(i, ']') {
		return i + 1
	}
	for {
		if i = r.value(i, depth); i < 0 {
			return -1
		}
		if i = r.space(i); r.is(i, ']') {
			return i + 1
		}
		if !r.is(i, ',') {
			return -1
		}
		i = r.space(i + 1)
	}
}

// str reads the rest of a string, eight bytes at a time if none of them is special.
func (r *reader) str(i int) int {
	for i < len(r.text) {
		if i+8 <= len(r.text) && isPlain(binary.LittleEndian.Uint64(r.text[i:])) {
			i += 8
			continue
		}
		switch c := r.text[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			if i = r.escape(i + 1); i < 0 {
				return -1
			}
		default:
			i++
		}
	}
	return -1
}

// isPlain reports whether none of the eight bytes is a quote, a backslash or a control
// character. The bit trick may also flag bytes after the first such byte, which does not change
// the result.
func isPlain(x uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := x^('"'*each), x^('\\'*each)
	return ((x-' '*each)&^x|(quote-each)&^quote|(slash-each)&^slash)&high == 0
}

func (r *reader) escape(i int) int {
	if i >= len(r.text) {
		return -1
	}
	switch r.text[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		for end := i + 5; i+1 < end; i++ {
			if i+1 >= len(r.text) || !isHex(r.text[i+1]) {
				return -1
			}
		}
		return i + 1
	}
	return -1
}

func (r *reader) number(i int) int {
	if r.is(i, '-') {
		i++
	}
	if r.is(i, '0') {
		i++
	} else if i = r.digits(i); i < 0 {
		return -1
	}
	if r.is(i, '.') {
		if i = r.digits(i + 1); i < 0 {
			return -1
		}
	}
	if r.is(i, 'e') || r.is(i, 'E') {
		if i++; r.is(i, '+') || r.is(i, '-') {
			i++
		}
		return r.digits(i)
	}
	return i
}

// digits reads at least one digit.
func (r *reader) digits(i int) int {
	first := i
	for i < len(r.text) && isDigit(r.text[i]) {
		i++
	}
	if i == first {
		return -1
	}
	return i
}

func (r *reader) is(i int, c byte) bool { return i < len(r.text) && r.text[i] == c }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
