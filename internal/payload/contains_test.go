package payload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/payload"
)

func TestATextIsFoundHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		contentType, body, text string
		want                    bool
	}{
		{"application/json", `{"a":"ada@example.com"}`, "ada@example.com", true},
		{"application/json", `{"a":"ada\u0040example.com"}`, "ada@example.com", true},
		{"application/json", `{"a":"Gr\u00fc\u00dfe","b":["x\/y"]}`, "Grüße", true},
		{"application/json", `{"a":"Gr\u00fc\u00dfe","b":["x\/y"]}`, "x/y", true},
		{"application/json", `{"ada\u0040example.com":1}`, "ada@example.com", true},
		{"application/json", `{"a":"ada","b":"@example.com\n"}`, "ada@example.com", false},
		{"application/json", `{"a":4200}`, "4200", true},
		{form, "email=ada%40example.com&x=1", "ada@example.com", true},
		{form, "name=Ada+Lovelace", "Ada Lovelace", true},
		{form, "name=Ada", "Lovelace", false},
		{form, "text=100%+of+ada%40example.com;", "of ada@example.com;", true},
		{form, "next=%2Fa?email=ada%40example.com", "/a?email=ada@example.com", true},
		{"text/plain", "call Ada", "Ada", true},
		{"text/plain", "call Ada", "ada", false},
	} {
		require.Equal(t, c.want, payload.Contains(c.contentType, []byte(c.body), c.text), c.body)
	}
}
