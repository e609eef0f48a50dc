package column

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/internal/safetext"
)

// Headers returns headers as JSON that Postgres accepts: jsonb rejects NUL and invalid UTF-8, which
// a header may contain. Headers writes the JSON itself, because encoding/json would sort and copy
// the map by reflection for each delivery.
func Headers(headers map[string][]string) ([]byte, error) {
	size := 2
	for name, values := range headers {
		size += len(name) + 6
		for _, value := range values {
			size += len(value) + 3
		}
	}
	text := append(make([]byte, 0, size), '{')
	var err error
	for i, name := range slices.Sorted(maps.Keys(headers)) {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = appendText(text, name); err != nil {
			return nil, err
		}
		text = append(text, ':', '[')
		for j, value := range headers[name] {
			if j > 0 {
				text = append(text, ',')
			}
			if text, err = appendText(text, value); err != nil {
				return nil, err
			}
		}
		text = append(text, ']')
	}
	return append(text, '}'), nil
}

// appendText appends s as a JSON string, with U+FFFD in place of NUL and invalid UTF-8, which jsonb
// rejects.
func appendText(text []byte, s string) ([]byte, error) {
	if !strings.ContainsFunc(s, needsCare) {
		text = append(text, '"')
		text = append(text, s...)
		return append(text, '"'), nil
	}
	encoded, err := json.Marshal(safetext.Storable(s))
	return append(text, encoded...), err
}

// needsCare reports whether a character may need an escape in JSON.
func needsCare(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > '~' }
