package destination

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// SQLContentType is the content type of a request that holds a Statement.
const SQLContentType = "application/vnd.hooklatch.sql+json"

// Statement is the body of an effect at an sql destination: which of its
// statements runs, with which parameters.
type Statement struct {
	// Name is that of a statement of the destination; it may be empty where
	// there is only one.
	Name string `json:"statement"`
	// Params are the parameters $1, $2, ... as text; nil is NULL.
	Params []*string `json:"params"`
}

// Encode returns the statement as the body of a request.
func (s Statement) Encode() ([]byte, error) {
	for i, param := range s.Params {
		if param != nil && strings.ContainsRune(*param, 0) {
			return nil, fmt.Errorf("parameter %d contains a NUL character, which Postgres cannot store", i+1)
		}
	}
	if s.Params == nil {
		s.Params = []*string{}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // The ledger is read by people.
	if err := encoder.Encode(s); err != nil {
		return nil, fmt.Errorf("encode statement: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// DecodeStatement reads the body of a request. Unknown fields are refused, because
// they would be lost silently.
func DecodeStatement(body []byte) (Statement, error) {
	var s Statement
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return Statement{}, fmt.Errorf("decode statement: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Statement{}, errors.New("decode statement: something follows it")
	}
	return s, nil
}

// countParams is the highest $n of a statement outside of its literals,
// quoted names and comments.
func countParams(text string) int {
	highest := 0
	for text != "" {
		switch {
		case strings.HasPrefix(text, "--"):
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*"):
			text = after(text[2:], "*/")
		case strings.HasPrefix(text, "E'") || strings.HasPrefix(text, "e'"):
			text = afterEscaped(text[2:])
		case text[0] == '\'' || text[0] == '"':
			text = after(text[1:], text[:1]) // a doubled quote begins another literal, with the same effect
		case text[0] == '$':
			digits := len(text[1:]) - len(strings.TrimLeft(text[1:], "0123456789"))
			if digits > 0 {
				n, err := strconv.Atoi(text[1 : 1+digits])
				if err == nil {
					highest = max(highest, n)
				}
				text = text[1+digits:]
				continue
			}
			end := strings.IndexByte(text[1:], '$')
			if end < 0 {
				return highest
			}
			tag := text[:end+2]
			text = after(text[len(tag):], tag)
		default:
			text = text[1:]
		}
	}
	return highest
}

// afterEscaped is what follows a literal in which a backslash escapes a quote.
func afterEscaped(text string) string {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\'':
			return text[i+1:]
		}
	}
	return ""
}

// after is what follows the first end in text, or nothing.
func after(text, end string) string {
	_, rest, _ := strings.Cut(text, end)
	return rest
}
