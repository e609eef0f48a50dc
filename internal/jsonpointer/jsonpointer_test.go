package jsonpointer_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	const doc = `{"a": {"b": [10, {"c": "x"}]}, "": 1, "a/b": 2, "m~n": 3, "a.#": 4, "é": 5, "n": null,
		"twice": 6, "twice": {"in": 7, "in": 8}, "0": 9}`
	for pointer, want := range map[string]string{
		"":          doc,
		"/a/b/0":    "10",
		"/a/b/1/c":  `"x"`,
		"/":         "1",
		"/a~1b":     "2",
		"/m~0n":     "3",
		"/a.#":      "4",
		"/é":        "5",
		"/n":        "null",
		"/twice/in": "8", // the last of several equal keys counts, at every level
		"/0":        "9",
		"/a/b/2":    "",
		"/a/b/00":   "",
		"/a/b/-":    "",
		"/a/b/c":    "",
		"/a/b/0/c":  "",
		"/b":        "",
	} {
		got := jsonpointer.Lookup(gjson.Parse(doc), pointer)
		require.Equal(t, want, got.Raw, pointer)
		require.Equal(t, want != "", got.Exists(), pointer)
	}
	require.Equal(t, []string{"a", "b/c", "~1", ""}, jsonpointer.Tokens("/a/b~1c/~01/"))
	require.Empty(t, jsonpointer.Tokens(""))
}

// encoding/json, which also uses the last of several equal keys, is the reference.
func FuzzLookupAgreesWithEncodingJSON(f *testing.F) {
	f.Add([]byte(`{"events":[{"id":"A"}],"events":[{"id":"B"}]}`), "/events/0/id")
	f.Add([]byte(`{"a":1,"\u0061":{"b":[true,null]}}`), "/a/b/1")
	f.Add([]byte(`[[1,2],[3]]`), "/0/1")
	f.Add([]byte(`{"":{"~/":1}}`), "//~0~1")
	f.Fuzz(func(t *testing.T, body []byte, pointer string) {
		var want any
		if pointer != "" && pointer[0] != '/' || json.Unmarshal(body, &want) != nil {
			t.Skip()
		}
		exists := true
		for _, token := range jsonpointer.Tokens(pointer) {
			want, exists = child(want, token)
			if !exists {
				break
			}
		}
		got := jsonpointer.Lookup(gjson.ParseBytes(body), pointer)
		if !exists && !got.Exists() {
			return
		}
		var value any
		if err := json.Unmarshal([]byte(got.Raw), &value); err != nil || !exists || !reflect.DeepEqual(value, want) {
			t.Fatalf("%s in %s: got %q (%v), want %v (%v)", pointer, body, got.Raw, err, want, exists)
		}
	})
}

func child(of any, token string) (any, bool) {
	switch of := of.(type) {
	case map[string]any:
		value, exists := of[token]
		return value, exists
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || strconv.Itoa(i) != token || i < 0 || i >= len(of) {
			return nil, false
		}
		return of[i], true
	}
	return nil, false
}
