package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

func TestCheckWarnsOfSecretsThatEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name, sources string
		want          []string // levels and messages, in order
	}{
		{"no end", "a: {provider: stripe, secrets: [the-first-secret, the-second-secret]}", nil},
		{"an end that is far", "a: {provider: stripe, secrets: [the-first-secret, {value: the-second-secret, not_after: 2026-12-21T00:00:00Z}]}", nil},
		{
			"expired", "a: {provider: stripe, secrets: [the-first-secret, {value: the-second-secret, not_after: 2026-11-20T00:00:00Z}]}",
			[]string{`warning secret 2 of source "a" expired on 2026-11-20 00:00:00.000Z`},
		},
		{
			"soon", "a: {provider: stripe, secrets: [{value: the-first-secret, not_after: 2026-11-27T00:00:00Z}, the-second-secret]}",
			[]string{`warning secret 1 of source "a" is accepted only until 2026-11-27 00:00:00.000Z`},
		},
		{
			"retries with old secrets", "a: {provider: razorpay, secrets: [{value: the-first-secret, not_after: 2026-11-20T13:00:00Z}, the-second-secret]}",
			[]string{`warning secret 1 of source "a" is accepted only until 2026-11-21 13:00:00.000Z`},
		},
		{
			"the last one soon", "a: {provider: stripe, secrets: [{value: the-first-secret, not_after: 2026-11-27T00:00:00Z}]}",
			[]string{
				`warning secret 1 of source "a" is accepted only until 2026-11-27 00:00:00.000Z`,
				`warning source "a" has no secret that is valid after 2026-11-27 00:00:00.000Z: all its deliveries will then be answered with 503`,
			},
		},
		{
			"the last one soon, with the next", "a: {provider: stripe, secrets: [{value: the-first-secret, not_after: 2026-11-27T00:00:00Z}, {value: the-second-secret, not_before: 2026-11-26T00:00:00Z}]}",
			[]string{`warning secret 1 of source "a" is accepted only until 2026-11-27 00:00:00.000Z`},
		},
		{
			"a gap before the next", "a: {provider: stripe, secrets: [{value: the-first-secret, not_after: 2026-11-25T00:00:00Z}, {value: the-second-secret, not_before: 2026-11-26T00:00:00Z}]}",
			[]string{
				`warning secret 1 of source "a" is accepted only until 2026-11-25 00:00:00.000Z`,
				`warning source "a" has no secret that is valid after 2026-11-25 00:00:00.000Z: all its deliveries will then be answered with 503`,
			},
		},
		{
			"the next ends soon, too", "a: {provider: stripe, secrets: [{value: the-first-secret, not_after: 2026-11-25T00:00:00Z}, {value: the-second-secret, not_before: 2026-11-24T00:00:00Z, not_after: 2026-11-26T00:00:00Z}]}",
			[]string{
				`warning secret 1 of source "a" is accepted only until 2026-11-25 00:00:00.000Z`,
				`warning secret 2 of source "a" is accepted only until 2026-11-26 00:00:00.000Z`,
				`warning source "a" has no secret that is valid after 2026-11-26 00:00:00.000Z: all its deliveries will then be answered with 503`,
			},
		},
		{
			"none now", "a: {provider: stripe, secrets: [{value: the-first-secret, not_after: 2026-11-20T00:00:00Z}, {value: the-second-secret, not_before: 2026-11-22T00:00:00Z}]}",
			[]string{
				`warning secret 1 of source "a" expired on 2026-11-20 00:00:00.000Z`,
				`problem source "a" has no secret that is valid now: all its deliveries are answered with 503`,
			},
		},
		{"keyless", "a: {provider: jwt, jwks_url: https://issuer.example.com/keys, audience: a, event_id: {pointer: /id}}", nil},
		{
			"guard of nothing", "a: {provider: pagerduty, secrets: [the-first-secret], replay_guard: refuse}",
			[]string{`warning source "a": replay_guard has no effect: nothing in a delivery of PagerDuty distinguishes a replay from a new event`},
		},
		{
			"own key", "a: {provider: vercel, secrets: [the-first-secret], event_id: {pointer: /payload/id}}",
			[]string{`warning source "a": its event key differs from the one that Vercel documents: /id of the body.`},
		},
		{
			"key without a part", "a: {provider: vercel, secrets: [the-first-secret], dedup: {ignore: [/id]}}",
			[]string{`warning source "a": its event key differs from the one that Vercel documents: /id of the body.`},
		},
		{"key of a scheme of one's own", "a: {provider: token, secrets: [the-first-secret], dedup: {ignore: [/id]}}", nil},
		{"guard", "a: {provider: github, secrets: [the-first-secret], replay_guard: refuse}", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse("check.yaml", []byte("sources: {"+test.sources+"}"), nil)
			require.NoError(t, err)
			c := &checkup{}
			c.sources(cfg, now)
			var got []string
			for _, f := range c.findings {
				require.NotEmpty(t, f.Fix)
				got = append(got, string(f.Level)+" "+f.Message)
			}
			require.Equal(t, test.want, got)
		})
	}
}
