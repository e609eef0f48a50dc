package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// FuzzWalk walks JSON as the parser does that reads it once it is proven, and
// survives what is no JSON.
func FuzzWalk(f *testing.F) {
	for _, text := range []string{
		`{"a":1,"b":[1,2,{"c":"}"}],"\u0061":"x\\\"y","":null}`, ` [ 1 , -2.5e+3 ,true,"\\" , {"a":[[]]} ] `, `{}`, `[]`, `{"a" : {"b":"]"} , "a":2}`,
		`{"a":`, `{"a":"`, `{"a":"\`, `[1,`, `{"a"}`, `{,}`, `[]]`, `{"a":1}}`, ``, ` `, `1`, `{"\u12":1}`, `{"a":tru e}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var names, values []string
		w := &walk{text: text}
		err := w.members(func(name string) error {
			raw, err := w.value()
			names, values = append(names, name), append(values, string(raw))
			return err
		})
		list := &walk{text: text}
		listed := list.items(func(int) error {
			raw, err := list.value()
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
				require.Equal(t, unquote(key.Raw), names[0])
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
	w := &walk{text: []byte(members)}
	refusedFor(t, ReasonTooManyItems, w.members(func(string) error { return nil }))
	items := `[0` + strings.Repeat(`,0`, maxItems) + `]`
	w = &walk{text: []byte(items)}
	refusedFor(t, ReasonTooManyItems, w.items(func(int) error { return nil }))
	_, err := someFields([]byte(strings.Repeat("a&", maxFields)), "a")
	refusedFor(t, ReasonTooManyItems, err)
}
