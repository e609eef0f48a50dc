package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// TestRequiredAnswers checks that senders get the response that they require.
func TestRequiredAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider, body string
		want           provider.Answer
	}{
		{"telegram", `{"update_id":1}`, provider.Answer{Status: 200}},
		{"okta", `{}`, provider.Answer{Status: 204}},
		{"discord", `{"type":1,"event":{}}`, provider.Answer{Status: 204}},
		{"discord", `{"type":2}`, provider.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"type":5}`)}},
		{"discord", `{"type":3}`, provider.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"type":6}`)}},
		{"discord", `{"type":4}`, provider.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"type":8,"data":{"choices":[]}}`)}},
		{"discord", `{"type":5}`, provider.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"type":5}`)}},
	} {
		p := provide(t, c.provider, configured(t)[c.provider])
		require.Equal(t, &c.want, p.Answer(&provider.Request{Body: []byte(c.body)}), "%s %s", c.provider, c.body)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	twilio := provide(t, "twilio", provider.Options{})
	require.Equal(t, &provider.Answer{Status: 200, ContentType: "text/xml", Body: []byte("<Response/>")}, twilio.Answer(&provider.Request{}))
	slack := provide(t, "slack", provider.Options{})
	require.Equal(t, &provider.Answer{Status: 200}, slack.Answer(&provider.Request{}))
}
