package proof

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

func TestRetrySigns(t *testing.T) {
	t.Parallel()
	headers := RetrySigns{Number: InHeader("X-Retry-Num"), Reason: InHeader("X-Retry-Reason"), Token: InHeader("X-Token")}
	body := RetrySigns{Number: At("/attempts"), First: 1, Again: At("/context/isRedelivery")}
	list := RetrySigns{Number: At("/0/attemptNumber")}
	for _, c := range []struct {
		name   string
		signs  RetrySigns
		header http.Header
		body   string
		want   provider.RetryInfo
	}{
		{name: "nothing", signs: headers},
		{name: "number and reason", signs: headers, header: http.Header{"X-Retry-Num": {"2"}, "X-Retry-Reason": {"http_timeout"}, "X-Token": {"t"}},
			want: provider.RetryInfo{Number: 2, Reason: "http_timeout", Redelivery: true, Token: "t"}},
		{name: "zero", signs: headers, header: http.Header{"X-Retry-Num": {"0"}}},
		{name: "negative", signs: headers, header: http.Header{"X-Retry-Num": {"-3"}}},
		{name: "no number", signs: headers, header: http.Header{"X-Retry-Num": {"many"}}},
		{name: "too many", signs: headers, header: http.Header{"X-Retry-Num": {"1000001"}}},
		{name: "too long", signs: headers, header: http.Header{"X-Retry-Reason": {strings.Repeat("a", 65)}}},
		{name: "not printable", signs: headers, header: http.Header{"X-Retry-Reason": {"é"}}},
		{name: "first of one", signs: body, body: `{"attempts":1,"context":{"isRedelivery":false}}`},
		{name: "second", signs: body, body: `{"attempts":2}`, want: provider.RetryInfo{Number: 1, Redelivery: true}},
		{name: "redelivery", signs: body, body: `{"context":{"isRedelivery":true}}`, want: provider.RetryInfo{Redelivery: true}},
		{name: "no JSON", signs: body, body: `{`},
		{name: "list", signs: list, body: `[{"attemptNumber":3}]`, want: provider.RetryInfo{Number: 3, Redelivery: true}},
	} {
		require.Equal(t, c.want, c.signs.Of(&provider.Request{Header: c.header, Body: []byte(c.body)}), c.name)
	}
}
