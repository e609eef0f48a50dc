package destination

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hooklatch/hooklatch/internal/plainjson"
)

// SQLContentType is the content type of a request whose body is a Statement.
const SQLContentType = "application/vnd.hooklatch.sql+json"

// Statement is the request body of an effect at an sql destination: the statement to run, with its
// parameters.
type Statement struct {
	// Name is the name of one of the destination's statements. It may be empty if there is only
	// one.
	Name string `json:"statement"`
	// Params are the parameters $1, $2, ... as text; nil is NULL.
	Params []*string `json:"params"`
}

// Encode returns the statement as a request body. It fails if a parameter contains a NUL character.
func (s Statement) Encode() ([]byte, error) {
	for i, param := range s.Params {
		if param != nil && strings.ContainsRune(*param, 0) {
			return nil, fmt.Errorf("parameter %d contains a NUL character, which Postgres cannot store", i+1)
		}
	}
	if s.Params == nil {
		s.Params = []*string{}
	}
	body, err := plainjson.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode statement: %w", err)
	}
	return body, nil
}

// DecodeStatement reads a statement from a request body. It fails if the body has unknown fields.
func DecodeStatement(body []byte) (Statement, error) {
	var s Statement
	if err := decodeStrictly(body, &s); err != nil {
		return Statement{}, fmt.Errorf("decode statement: %w", err)
	}
	return s, nil
}

// decodeStrictly decodes a JSON request body. It rejects unknown fields, which would otherwise be
// lost silently.
func decodeStrictly(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data follows the object")
	}
	return nil
}
