package proof

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// FuzzWalk compares a walk over JSON with the parser that reads the verified JSON. The walk must
// not panic on any other input.
func FuzzWalk(f *testing.F) {
	for _, text := range []string{
		`{"a":1,"b":[1,2,{"c":"}"}],"\u0061":"x\\\"y","":null}`, ` [ 1 , -2.5e+3 ,true,"\\" , {"a":[[]]} ] `, `{}`, `[]`, `{"a" : {"b":"]"} , "a":2}`,
		`{"a":`, `{"a":"`, `{"a":"\`, `[1,`, `{"a"}`, `{,}`, `[]]`, `{"a":1}}`, ``, ` `, `1`, `{"\u12":1}`, `{"a":tru e}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var names, values []string
		w := &Walk{Text: text}
		err := w.Members(func(name string) error {
			raw, err := w.Value()
			names, values = append(names, name), append(values, string(raw))
			return err
		})
		list := &Walk{Text: text}
		listed := list.Items(func(int) error {
			raw, err := list.Value()
			values = append(values, string(raw))
			return err
		})
		if !json.Valid(text) {
			return
		}
		root := gjson.ParseBytes(text)
		require.Equal(t, root.IsObject(), err == nil)
		require.Equal(t, root.IsArray(), listed == nil)
		if err != nil && listed != nil {
			return
		}
		root.ForEach(func(key, value gjson.Result) bool {
			require.NotEmpty(t, values)
			require.Equal(t, value.Raw, values[0])
			values = values[1:]
			if root.IsObject() {
				require.Equal(t, Unquote(key.Raw), names[0])
				names = names[1:]
			}
			return true
		})
		require.Empty(t, values)
	})
}

func TestWalkGivesUp(t *testing.T) {
	t.Parallel()
	members := `{"a":0` + strings.Repeat(`,"a":0`, maxMembers) + `}`
	w := &Walk{Text: []byte(members)}
	refusedFor(t, provider.ReasonTooManyItems, w.Members(func(string) error { return nil }))
	items := `[0` + strings.Repeat(`,0`, maxItems) + `]`
	w = &Walk{Text: []byte(items)}
	refusedFor(t, provider.ReasonTooManyItems, w.Items(func(int) error { return nil }))
	_, err := SomeFields([]byte(strings.Repeat("a&", MaxFields)), "a")
	refusedFor(t, provider.ReasonTooManyItems, err)
}
