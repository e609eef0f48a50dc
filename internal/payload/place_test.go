package payload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/payload"
)

func TestPlacesAreThoseOfTheValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		contentType, body, item string
		pointers, want          []string
	}{
		{"application/json", `{"data":{"email":"a@b","name":"x"}}`, "", []string{"/data/email"}, []string{`"a@b"`}},
		{"application/json", `[{"email":"a@b"},{"email":"c@d"}]`, "/1", []string{"/email"}, []string{`"c@d"`}},
		{"application/json", `{"b":1,"a":{"c":2}}`, "", []string{"/a/c", "/a", "/b", "/a"}, []string{"1", `{"c":2}`}},
		{"application/json", `{"b":1}`, "", []string{"/missing"}, nil},
		{payload.FormType, "From=%2B1+555&To=x&From=y&Body", "", []string{"/From"}, []string{"%2B1+555", "y"}},
		{payload.FormType, "%46rom=1&From=&x=From", "", []string{"/From"}, []string{"1", ""}},
		{payload.FormType, "a[b]=1&%zz=2&x;y%=3;4%", "", []string{"/a[b]", "/%zz", "/x;y%"}, []string{"1", "2", "3;4%"}},
		{payload.FormType, "a~b=1&c/d=2", "", []string{"/a~0b", "/c~1d", "/c/d"}, []string{"1", "2"}},
		{payload.FormType, `{"From":1}`, "", []string{"/From"}, []string{"1"}},
		{"text/xml", "<From>1</From>", "", []string{"/From"}, nil},
		{"", "", "", []string{"/From"}, nil},
		// A byte order mark is not parsed, but counts in the positions of values.
		{"application/json", "\ufeff" + `{"a":{"b":"x"}}`, "", []string{"/a/b"}, []string{`"x"`}},
		{"application/json", "\ufeff" + `[{"a":1},{"a":2}]`, "/1", []string{""}, []string{`{"a":2}`}},
		{payload.FormType, "\ufeffFrom=1&To=2", "", []string{"/From", "/To"}, []string{"1", "2"}},
		{payload.FormType, "\ufeff" + `{"From":1}`, "", []string{"/From"}, []string{"1"}},
	} {
		var found []string
		for _, p := range payload.Places(c.contentType, []byte(c.body), c.item, c.pointers) {
			found = append(found, c.body[p.Start:p.End])
		}
		require.Equal(t, c.want, found, "%v in %s", c.pointers, c.body)
	}
}
