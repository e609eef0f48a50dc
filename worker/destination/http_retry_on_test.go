package destination

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// The configured list and the effect's policy decide which 4xx responses are tried again.
func TestHTTPRetriesOn(t *testing.T) {
	t.Parallel()
	url := receive(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.WriteHeader(status)
	})
	all := []int{400, 401, 403, 404, 407, 410, 421, 422, 423}
	for name, c := range map[string]struct {
		list   []int
		policy ledger.Policy
		again  []int
	}{
		"default":                   {nil, ledger.AtLeastOnce, []int{401, 403, 404, 407, 421, 423}},
		"default, at most once":     {nil, ledger.AtMostOnce, []int{401, 407, 421}},
		"none":                      {[]int{}, ledger.AtLeastOnce, nil},
		"none, at most once":        {[]int{}, ledger.AtMostOnce, nil},
		"a list":                    {[]int{422, 404}, ledger.AtLeastOnce, []int{404, 422}},
		"a list, effect is at most": {[]int{401, 404}, ledger.AtMostOnce, []int{401}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHTTP(t, HTTPOptions{URL: url, RetryOn: c.list})
			var again []int
			for _, status := range all {
				e := testEffect()
				e.Policy, e.Request.URL = c.policy, fmt.Sprintf("%s/%d", url, status)
				switch out := h.Send(t.Context(), e); out.Verdict {
				case ledger.VerdictTurnedAway:
					again = append(again, status)
				default:
					require.Equal(t, ledger.VerdictRefused, out.Verdict, status)
				}
			}
			require.Equal(t, c.again, again)
		})
	}
	for _, status := range []int{399, 408, 409, 425, 429, 500} {
		_, err := NewHTTP(HTTPOptions{Name: "app", URL: url, RetryOn: []int{404, status}})
		require.ErrorContains(t, err, "allowed: 400 to 499 without 408, 409, 425 and 429", status)
	}
}
