package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

// Some senders send an invalid parameter in the content type, or repeat one. The body is still read
// as a form.
func TestFormsAreFormsWhateverTheParametersOfTheirType(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	for _, name := range Names() {
		for _, c := range deliveriesOf(t, name).cases {
			kind := strings.ToLower(c.request.Header.Get("Content-Type"))
			if c.kind != "accepted" || !strings.HasPrefix(kind, proof.FormType) && !strings.HasPrefix(kind, "multipart/form-data") {
				continue
			}
			p, secrets, r := c.received(t, name)
			want, err := p.Events(r)
			require.NoError(t, err)
			for _, more := range []string{"; utf-8", "; charset=utf-8; charset=utf-8", ";charset"} {
				changed := *r
				changed.Header = r.Header.Clone()
				changed.Header.Set("Content-Type", r.Header.Get("Content-Type")+more)
				_, err := p.Verify(t.Context(), &changed, secrets, c.source.Clock)
				require.NoError(t, err, "%s: %s: %s", name, c.name, more)
				got, err := p.Events(&changed)
				require.NoError(t, err, "%s: %s: %s", name, c.name, more)
				require.Equal(t, identities(want), identities(got), "%s: %s: %s", name, c.name, more)
				read[name] = true
			}
		}
	}
	for _, name := range []string{"braintree", "github", "hmac", "mailgun", "slack", "token", "twilio"} {
		require.Contains(t, read, name)
	}
}

// identities returns the types and items of events. It omits ids, because some providers make a new
// id for each reading.
func identities(events []provider.Event) []string {
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Type, e.Item)
	}
	return texts
}
