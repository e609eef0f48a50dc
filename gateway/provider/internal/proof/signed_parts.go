package proof

import (
	"bytes"
	"strings"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// brackets contains the characters with which a JSON object or list begins.
const brackets = "{["

// isDivisible reports whether a signed text can be split in only one way into its id, time and
// body. An id may contain the separator only if it has no bracket, a time in digits follows, and
// the body is a JSON container. Any other split then fails. A longer id would contain a bracket.
// With a shorter id, the body would begin with other text and have a time and the separator just
// before its first bracket; isDivisible returns false for such a body too.
func (s *Scheme) isDivisible(id string, body []byte) bool {
	separator := s.Template.after(InID)
	if separator == "" {
		return true
	}
	timed := s.Unit != RFC3339 && s.Template.after(InTimestamp) == separator && strings.Join(s.Template, "") == InID+separator+InTimestamp+separator+InBody
	text := bytes.TrimLeft(jsonpointer.WithoutMark(body), " \t\r\n")
	isContainer := len(text) > 0 && strings.IndexByte(brackets, text[0]) >= 0
	switch {
	case strings.Contains(id, separator):
		return timed && isContainer && !strings.ContainsAny(id, brackets)
	case !timed || isContainer:
		return true
	}
	first := bytes.IndexAny(text, brackets)
	if first < 0 {
		return true
	}
	before := strings.TrimSuffix(strings.TrimRight(string(text[:first]), " \t\r\n"), "\ufeff")
	before, ended := strings.CutSuffix(before, separator)
	if !ended {
		return true
	}
	_, err := s.Unit.Parse(before[strings.LastIndex(before, separator)+1:])
	return err != nil
}
