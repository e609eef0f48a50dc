package provider

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRequiredAnswers gives senders the answer they insist on.
func TestRequiredAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider, body string
		want           Answer
	}{
		{"telegram", `{"update_id":1}`, Answer{Status: 200}},
		{"okta", `{}`, Answer{Status: 204}},
		{"discord", `{"type":1,"event":{}}`, Answer{Status: 204}},
		{"discord", `{"type":2}`, Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"type":5}`)}},
		{"discord", `{"type":3}`, Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"type":6}`)}},
		{"discord", `{"type":4}`, Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"type":8,"data":{"choices":[]}}`)}},
		{"discord", `{"type":5}`, Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"type":5}`)}},
	} {
		p := provide(t, c.provider, configured()[c.provider])
		require.Equal(t, &c.want, p.Answer(&Request{Body: []byte(c.body)}), "%s %s", c.provider, c.body)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	twilio := provide(t, "twilio", Options{})
	require.Equal(t, &Answer{Status: 200, ContentType: "text/xml", Body: []byte("<Response/>")}, twilio.Answer(&Request{}))
	slack := provide(t, "slack", Options{})
	require.Equal(t, &Answer{Status: 200}, slack.Answer(&Request{}))
}
