package proof

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A signed text can be split into id, time and body in at most one accepted way. Otherwise
// anyone who saw a delivery could turn it into another event.
func TestSignedTextIsDividedInOneWayOnly(t *testing.T) {
	t.Parallel()
	s := StandardScheme(StandardSecret(), StandardTolerance, WebhookNames())
	for _, text := range []string{
		`msg.100.{"a":1}`, `msg.5.100.{"a":1}`, `msg.5.6.100.{"a.7.":[1]}`, `a.b.5.100. [1]`, `m.5.x.100.{}`, "m.5.100.\ufeff{}", `m.1.2.3.4.[]`,
		`m.1.2.{.3.4.[]`, `m.5.100.plain`, `m.5.1.5 EUR`,
	} {
		var taken []string
		for i := range len(text) {
			for j := i + 1; j < len(text); j++ {
				if text[i] != '.' || text[j] != '.' || i == 0 {
					continue
				}
				id, at, body := text[:i], text[i+1:j], text[j+1:]
				if _, err := s.Unit.Parse(at); err == nil && s.isDivisible(id, []byte(body)) {
					taken = append(taken, id+" "+at+" "+body)
				}
			}
		}
		require.Len(t, taken, 1, "%q: %q", text, taken)
	}
	require.True(t, s.isDivisible("msg.1", []byte(`{}`)))
	require.False(t, s.isDivisible("msg.1", []byte(`text`)))
	require.False(t, s.isDivisible("msg.{", []byte(`{}`)))
	require.False(t, s.isDivisible("msg", []byte(`100.{}`)))
	require.True(t, s.isDivisible("msg", []byte(`about 1.5 {}`)))

	other := &Scheme{Template: Template{InID, ".", InBody}}
	require.False(t, other.isDivisible("msg.1", []byte(`{}`)), "without a time the id may not contain the separator")
	require.True(t, other.isDivisible("msg", []byte(`1.{}`)))
}
