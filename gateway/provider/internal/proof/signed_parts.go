package proof

import (
	"bytes"
	"strings"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

// brackets begin the JSON containers that senders send.
const brackets = "{["

// isDivisible reports whether a signed text can be divided in one way only into
// its id, time and body. An id may contain what separates it from the next part
// where that is a time in digits and the body is a JSON container: a time cannot
// move into the id then, since no body is one that begins with a bracket, nor a
// part of the id into the body, since that would end in a time before the
// bracket.
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
