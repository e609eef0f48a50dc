package pretty_test

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
)

var tag = regexp.MustCompile(`<[^>]*>`)

// shownText returns a payload's visible text.
func shownText(p pretty.Payload) string {
	if p.HTML != "" {
		return html.UnescapeString(tag.ReplaceAllString(string(p.HTML), ""))
	}
	return p.Text
}

// FuzzPayload checks that no part of a payload becomes an element, and that JSON is shown
// completely: numbers, order and repeated keys as received.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"a":1.0e+10,"a":[true,false,null,"\u003c"],"b":{"c":{}}}`, ` [ 1 , "a\"]}" ] `, `"x"`, `12345678901234567890.10`, `<script>`, "\xff\x00", "", `{"<canary>":"</pre>"}`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p := pretty.Of(body, true)
		for _, found := range tag.FindAllString(string(p.HTML), -1) {
			require.Regexp(t, `^<(/?details|details open|/?summary|/span|span class="(key|text|figure|word)")>$`, found)
		}
		if p.Cut || p.Binary || !json.Valid(body) {
			return
		}
		var want, got bytes.Buffer
		require.NoError(t, json.Compact(&want, body))
		require.NoError(t, json.Compact(&got, []byte(shownText(p))))
		require.Equal(t, want.String(), got.String())
	})
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	require.False(t, pretty.Of(nil, false).Stored)
	require.Contains(t, pretty.Of([]byte("\xff\xfe"), true).Text, "ff fe")
	deep := pretty.Of([]byte(strings.Repeat("[", 100)+strings.Repeat("]", 100)), true)
	require.Empty(t, deep.HTML, "too deep to fold")
	require.NotEmpty(t, deep.Text)
	require.NotEmpty(t, pretty.Of([]byte("\ufeff{\"a\":1}"), true).HTML, "a byte order mark is skipped")
	require.Equal(t, "{\n  \"a\": [\n    1,\n    {}\n  ]\n}", shownText(pretty.Of([]byte(`{"a":[1,{}]}`), true)))
}
