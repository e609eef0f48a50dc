package route

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDemandedText(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]string{
		`body.data.object.customer == "cus_42"`:                     "cus_42",
		`"cus_42" == body.customer`:                                 "cus_42",
		`body["data"].items[0].id == "cus_42"`:                      "cus_42",
		`event.type == "invoice.paid" && body.customer == "cus_42"`: "cus_42",
		`body.a == "abc" && body.n > 1 && body.b == "abcdef"`:       "abcdef",
		`body.customer == "cus_42" || body.amount > 100`:            "",
		`!(body.customer == "cus_42")`:                              "",
		`body.customer != "cus_42"`:                                 "",
		`event.id == "evt_42"`:                                      "",
		`headers["x-id"] == "evt_42"`:                               "",
		`body.name == "two words"`:                                  "",
		`body.name == "Zoë"`:                                        "",
		`body.name == "ab"`:                                         "",
		`body.amount == 4200`:                                       "",
		`body.customer.lowerAscii() == "cus_42"`:                    "",
		`body.customer.startsWith("cus_42")`:                        "",
		`body.items.exists(i, i.id == "cus_42")`:                    "",
		`has(body.customer) && body.customer == "cus_42"`:           "cus_42",
		`body[?"customer"].orValue("cus_42") == "cus_42"`:           "",
		`(body.a == "abc") == true`:                                 "",
		`body.a == "abc" ? body.b == "def" : body.c == "ghi"`:       "",
		`body.scan == "sha256:9f86d081884c7d659a2feaa0c55ad015"`:    "",
		`not an expression`:                                         "",
	} {
		compiled, err := CompileCondition(t.Context(), condition)
		require.Equal(t, condition == "not an expression", err != nil, condition)
		require.Equal(t, want, compiled.Text, condition)
	}
}
