package proof

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// digest is the canonical hash of a JSON value. White space, escapes and the order of keys do not
// change it. Numbers are hashed as they are written, because no number type can hold all of them:
// 1e400, for example, is too large.
type digest [sha256.Size]byte

// digestOf hashes valid JSON in one pass: a container's hash is computed from its members'
// hashes.
func digestOf(valid string) digest {
	s := scanner{text: valid}
	return s.Value(nil)
}

// digestWithout hashes JSON without some members. pointers contains one JSON pointer per line.
// Members inside an array cannot be left out.
func digestWithout(valid, pointers string) digest {
	var without [][]string
	for pointer := range strings.SplitSeq(pointers, "\n") {
		if pointer != "" {
			without = append(without, jsonpointer.Tokens(pointer))
		}
	}
	s := scanner{text: valid}
	return s.Value(without)
}

// scanner walks valid JSON. Its recursion is bounded, because json.Valid refuses more than 10,000
// levels.
type scanner struct {
	text string
	at   int
}

// Value hashes the value at the scanner's position, without the members at the given paths, and
// moves the position behind the value.
func (s *scanner) Value(without [][]string) digest {
	s.space()
	switch s.text[s.at] {
	case '{':
		return s.object(without)
	case '[':
		return s.array()
	case '"':
		return sha256.Sum256([]byte("s" + Unquote(s.string())))
	}
	start := s.at
	for s.at < len(s.text) && !strings.ContainsRune(",]} \t\r\n", rune(s.text[s.at])) {
		s.at++
	}
	return sha256.Sum256([]byte("n" + s.text[start:s.at]))
}

func (s *scanner) object(without [][]string) digest {
	type member [2]digest
	var members []member
	for s.more('}') {
		name := Unquote(s.string())
		s.space()
		s.at++ // the colon
		inside, leftOut := step(without, name)
		value := s.Value(inside)
		if !leftOut {
			members = append(members, member{sha256.Sum256([]byte(name)), value})
		}
	}
	// The sort is stable, because the order of equal keys counts: the last one is the value.
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a[0][:], b[0][:]) })
	h := sha256.New()
	h.Write([]byte("{"))
	for _, m := range members {
		h.Write(m[0][:])
		h.Write(m[1][:])
	}
	return digest(h.Sum(nil))
}

// step follows paths into a member. It returns the rest of each path that leads into the member,
// and whether a path ends at it.
func step(paths [][]string, name string) (inside [][]string, ends bool) {
	for _, path := range paths {
		switch {
		case path[0] != name:
		case len(path) == 1:
			ends = true
		default:
			inside = append(inside, path[1:])
		}
	}
	return inside, ends
}

func (s *scanner) array() digest {
	h := sha256.New()
	h.Write([]byte("["))
	for s.more(']') {
		item := s.Value(nil)
		h.Write(item[:])
	}
	return digest(h.Sum(nil))
}

// more reports whether the container has another member. It skips the opening bracket or the comma
// before that member. If no member follows, it skips the closing bracket instead, and also the
// opening bracket of an empty container.
func (s *scanner) more(closing byte) bool {
	s.space()
	c := s.text[s.at]
	s.at++
	if c == closing {
		return false
	}
	s.space()
	if s.text[s.at] == closing { // an empty container
		s.at++
		return false
	}
	return true
}

func (s *scanner) space() {
	for strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// string returns the quoted string at the scanner's position and moves the position behind it.
func (s *scanner) string() string {
	start := s.at
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
	return s.text[start:s.at]
}

// Unquote decodes a valid JSON string with its quotes. Unlike encoding/json, it keeps a lone
// surrogate (as the three bytes that UTF-8 would give it), so that two different strings never
// become equal. Such a result is not valid UTF-8.
func Unquote(quoted string) string {
	s := quoted[1 : len(quoted)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return strings.Clone(s)
	}
	text := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			text = append(text, s[i])
			continue
		}
		i++
		if s[i] != 'u' {
			text = append(text, unescaped(s[i]))
			continue
		}
		r := hex4(s[i+1:])
		i += 4
		if utf16.IsSurrogate(r) && strings.HasPrefix(s[i+1:], `\u`) {
			if pair := utf16.DecodeRune(r, hex4(s[i+3:])); pair != utf8.RuneError {
				r = pair
				i += 6
			}
		}
		if utf16.IsSurrogate(r) {
			text = append(text, 0xE0|byte(r>>12&0x0F), 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
			continue
		}
		text = utf8.AppendRune(text, r)
	}
	return string(text)
}

func hex4(s string) rune {
	n, err := strconv.ParseUint(s[:4], 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
