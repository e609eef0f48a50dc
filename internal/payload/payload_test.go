package payload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/payload"
)

func TestIsForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		contentType, body string
		form              bool
	}{
		{payload.FormType, "a=1&b=2", true},
		{payload.FormType + "; charset=utf-8", "a=1", true},
		{"Application/X-WWW-Form-Urlencoded", "", true},
		{payload.FormType, `{"a":1}`, false},
		{payload.FormType, " \r\n\t[1]", false},
		{payload.FormType, "\ufeff" + `{"a":1}`, false},
		{payload.FormType, "\ufeffa=1", true},
		{"application/json", "a=1", false},
		{"", "a=1", false},
		{"application/x-www-form-urlencoded; =", "a=1", true},
		{"application/x-www-form-urlencoded; utf-8", "a=1", true},
		{"application/x-www-form-urlencoded;charset=utf-8; charset=utf-8", "a=1", true},
		{"application/x-www-form-urlencoded-2; utf-8", "a=1", false},
		{"text/plain; application/x-www-form-urlencoded", "a=1", false},
	} {
		require.Equal(t, c.form, payload.IsForm(c.contentType, []byte(c.body)), "%q %q", c.contentType, c.body)
	}
}
