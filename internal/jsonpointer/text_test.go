package jsonpointer_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/internal/jsonpointer"
)

var texts = []string{
	`{"id": "evt_1", "type": "a.b", "data": {"object": {"id": "x"}}, "created": 12, "id": "evt_2"}`,
	`{"\u0069d": "escaped", "a\"b": 1, "": {"": 2}}`, `{"é": "ü", "x": "` + strings.Repeat("long ", 20) + `\n\u00e9"}`,
	`[1, {"id": 2}]`, ` "text" `, "\t{\"a\" : [ ] , \"b\":{ } }\r\n", `-0.5e+10`, `true`, `null`, `false`,
	`{"a": 0, "b": 123456789012345, "c": 1234567890123456, "d": 9007199254740993, "e": 1e3, "f": 1.5, "g": 123456789012345.5, "h": 99999999999999999999}`,
	`{"a": "", "b": "\\\\", "\u0062": "\u0061", "bc": "b", "\\b": 1, "~b": 2}`,
	`{"n": null, "t": true, "f": false, "i": -0, "e": 1E5, "l": [1, "2", [3]]}`,
	``, ` `, `{`, `{}x`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[,1]`, `01`, `-`, `1.`, `.5`, `1e`, `+1`, `nul`, `nulll`, `"`, `"\x"`, `"\u12"`, `"\u12g4"`,
	"\"a\tb\"", "\"\x00\"", "\"\xff\"", `{'a':1}`, `{"a":1 "b":2}`, `{a:1}`, "\ufeff{}", `{"a":1}{"b":2}`, `"12345678\"`, `"1234567` + "\x1f" + `8"`,
	strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	`{"deep": ` + strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999) + `}`, `{"deep": ` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`,
	manyMembers(127), manyMembers(128), manyMembers(129), manyMembers(1000),
}

func manyMembers(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"id%d": {"id": %d}`, i, i)
	}
	return "{" + strings.Join(members, ",") + "}"
}

var pointers = []string{"", "/id", "/type", "/data/object/id", "/", "//", "/a\"b", "/é", "/0", "/1/id", "/l/2/0", "/id0/id", "/id127/id", "/id999", "no"}

// Text must accept the same JSON as encoding/json, and find the same values as Lookup.
func TestTextIsReadAsByOthers(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		requireReadAsByOthers(t, text)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { requireReadAsByOthers(t, text) })
}

func requireReadAsByOthers(t *testing.T, text string) {
	t.Helper()
	read, ok := jsonpointer.Read([]byte(text))
	text = strings.TrimPrefix(text, "\ufeff") // json.Valid refuses a byte order mark, which Read skips
	require.Equal(t, json.Valid([]byte(text)), ok, "%.100q", text)
	if !ok {
		return
	}
	asked := pointers
	gjson.Parse(text).ForEach(func(name, _ gjson.Result) bool {
		if name.Type == gjson.String && len(asked) < 200 {
			asked = append(asked, "/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name.Str))
		}
		return true
	})
	for _, pointer := range asked {
		want, got := jsonpointer.Lookup(gjson.Parse(text), pointer), read.Lookup(pointer)
		require.Equal(t, want.String(), got.String(), "%s of %.100q", pointer, text)
		require.Equal(t, want.Type, got.Type, "%s of %.100q", pointer, text)
		require.Equal(t, strings.TrimSpace(want.Raw), strings.TrimSpace(got.Raw), "%s of %.100q", pointer, text)
		require.Equal(t, math.Float64bits(want.Num), math.Float64bits(got.Num), "%s of %.100q", pointer, text)
	}
}

func BenchmarkRead(b *testing.B) {
	text := []byte(`{"id":"evt_1","object":"event","created":1795000000,"data":{"object":{` +
		strings.Repeat(`"amount_due":12345,"customer_email":"x@example.com","lines":{"a":[1,2,3],"b":null},`, 10) + `"end":true}},"type":"invoice.paid"}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		read, _ := jsonpointer.Read(text)
		if read.Lookup("/type").Str != "invoice.paid" {
			b.Fatal("not found")
		}
	}
}
