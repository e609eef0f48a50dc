package jsonpointer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

func TestPlacesAreWhereTheValuesStand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, pointer string
		want          []string
	}{
		{`{"a":1}`, "/a", []string{"1"}},
		{` { "a" : { "b" : [ 1 , "x" ] } } `, "/a/b/1", []string{`"x"`}},
		{` {"a":1} `, "", []string{`{"a":1}`}},
		{`{"a":1,"a":2,"\u0061":3}`, "/a", []string{"1", "2", "3"}},
		{`{"a":{"b":1},"a":{"b":2,"c":3}}`, "/a/b", []string{"1", "2"}},
		{`[{"a":null},{"a":[]}]`, "/1/a", []string{"[]"}},
		{`{"a/b":{"~":true}}`, "/a~1b/~0", []string{"true"}},
		{`{"":{"":7}}`, "//", []string{"7"}},
		{`{"1":1}`, "/1", []string{"1"}},
		{`["x"]`, "/01", nil},
		{`["x"]`, "/1", nil},
		{`[]`, "/0", nil},
		{`{}`, "/a", nil},
		{`{"a":"x"}`, "/a/b", nil},
		{`{"a":1}`, "a", nil},
		{`{"a":1`, "/a", nil},
		{`a=1`, "/a", nil},
		{``, "", nil},
	} {
		var found []string
		for _, p := range jsonpointer.Places([]byte(c.text), c.pointer) {
			found = append(found, c.text[p.Start:p.End])
		}
		require.Equal(t, c.want, found, "%s in %s", c.pointer, c.text)
	}
}

func TestSiblingsMatchAnIndexOnly(t *testing.T) {
	t.Parallel()
	require.Len(t, jsonpointer.Siblings([]byte(`["x","y"]`), "/7"), 2)
	require.Empty(t, jsonpointer.Siblings([]byte(`["x","y"]`), "/-1"))
	require.Empty(t, jsonpointer.Siblings([]byte(`["x","y"]`), "/01"))
}

// Lookup finds the value at the last of the positions that Places returns.
func TestPlacesAgreeWithLookup(t *testing.T) {
	t.Parallel()
	name := rapid.SampledFrom([]string{"a", "b", "", "0", `\u0061`})
	value := rapid.Custom(func(t *rapid.T) string {
		var draw func(depth int) string
		draw = func(depth int) string {
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			if depth == 0 {
				kind = 0
			}
			parts := make([]string, rapid.IntRange(0, 3).Draw(t, "parts"))
			switch kind {
			case 1:
				for i := range parts {
					parts[i] = `"` + name.Draw(t, "name") + `" :` + draw(depth-1)
				}
				return "{" + strings.Join(parts, ", ") + " }"
			case 2:
				for i := range parts {
					parts[i] = draw(depth - 1)
				}
				return "[ " + strings.Join(parts, ",") + "]"
			}
			return rapid.SampledFrom([]string{"1", `"x"`, "null", "true", `"\"a\":"`}).Draw(t, "leaf")
		}
		return draw(3)
	})
	rapid.Check(t, func(t *rapid.T) {
		text := value.Draw(t, "text")
		tokens := rapid.SliceOfN(rapid.SampledFrom([]string{"/a", "/b", "/", "/0", "/1"}), 0, 3).Draw(t, "tokens")
		pointer := strings.Join(tokens, "")
		places := jsonpointer.Places([]byte(text), pointer)
		found := jsonpointer.Lookup(gjson.Parse(text), pointer)
		if !found.Exists() {
			return // Places may still find the value in an earlier member with the same name
		}
		require.NotEmpty(t, places)
		last := places[len(places)-1]
		require.Equal(t, found.Raw, text[last.Start:last.End])
	})
}
