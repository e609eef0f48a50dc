package condition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/condition"
)

func TestLiteralsAreReplacedAndNothingElse(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		`body.data.object.customer == "cus_42"`:       `body.data.object.customer == _`,
		`body.a == 'it\'s' && body["k"] != 42`:        `body.a == _ && body[_] != _`,
		`body.n > -1.5e+3 || body.n in [0x1F, 7u]`:    `body.n > -_ || body.n in [_, _]`,
		`body.v1.x2 == r"\" && b"\x00" == bR'a\'`:     `body.v1.x2 == _ && _ == _`,
		`event.type == """a "quoted" one""" && true`:  `event.type == _ && true`,
		"body.a == 1 // of jane@example.com\n&& true": "body.a == _ \n&& true",
		`body.rb == br + "x"`:                         `body.rb == br + _`,
		`body.a == "unfinished`:                       `body.a == _`,
		`has(body.email)`:                             `has(body.email)`,
		``:                                            ``,
	} {
		require.Equal(t, want, condition.WithoutLiterals(expression, func(string) string { return "_" }), expression)
	}
	var literals []string
	condition.WithoutLiterals(`body.a == "x" || 7 in body.b`, func(literal string) string {
		literals = append(literals, literal)
		return ""
	})
	require.Equal(t, []string{`"x"`, "7"}, literals)
}
