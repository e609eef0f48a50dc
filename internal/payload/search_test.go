package payload_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/payload"
)

func TestSearchValuesAreTheTextsAndNumbersOfPointers(t *testing.T) {
	t.Parallel()
	const urlencoded = "application/x-www-form-urlencoded"
	var many, want []string
	for i := range 20 {
		many = append(many, strconv.Itoa(i))
	}
	want = many[:payload.MaxSearchValues]
	for _, c := range []struct {
		contentType, body string
		pointers, want    []string
	}{
		{"application/json", `{"a":"x"}`, nil, nil},
		{"application/json", `{"a":{"b":" Ada@Example.com "},"n":4200,"c":"\u00dcn\u00ef"}`, []string{"/a/b", "/n", "/c", "/none"}, []string{"ada@example.com", "4200", "ünï"}},
		{"application/json", `{"a":["x",{"y":"z"},["w"],7,true,null,"X"],"b":"x"}`, []string{"/a", "/b"}, []string{"x", "7"}},
		{"application/json", `{"a":["x","y"]}`, []string{"/a/1"}, []string{"y"}},
		{"application/json", `{"t":true,"f":false,"z":null,"o":{},"e":"","s":"  "}`, []string{"/t", "/f", "/z", "/o", "/e", "/s"}, nil},
		{"application/json", `{"n":"a\u0000b"}`, []string{"/n"}, nil},
		{"application/json", `{"l":"` + strings.Repeat("x", 257) + `","m":"` + strings.Repeat("y", 256) + `"}`, []string{"/l", "/m"}, []string{strings.Repeat("y", 256)}},
		{"application/json", `[` + strings.Join(many, ",") + `]`, []string{""}, want},
		{"application/json", `{"a":"x`, []string{"/a"}, nil},
		{urlencoded, "From=%2B491234&To=b&From=c", []string{"/From", "/a/b"}, []string{"+491234", "c"}},
		{"text/plain", "a=b", []string{"/a"}, nil},
	} {
		require.Equal(t, c.want, payload.SearchValues(c.contentType, []byte(c.body), c.pointers), c.body)
	}
	contentType, body := form(t)
	require.Equal(t, []string{"jon@example.com", "a", "b"}, payload.SearchValues(contentType, body, []string{"/from", "/to"}))
}
