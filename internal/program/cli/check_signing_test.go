package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

// Svix published this key pair in its server's tests.
const (
	publishedPrivateKey = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
	publishedPublicKey  = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
)

func TestCheckShowsThePublicKeyOfADestination(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("hooklatch.yaml", []byte(`destinations:
  app: {http: {url: http://localhost, sign: {standard_webhooks: ["raw:shared", "`+publishedPrivateKey+`"]}}}
  shared: {http: {url: http://localhost, sign: {standard_webhooks: "raw:shared"}}}
  unsigned: {http: {url: http://localhost}}
`), nil)
	require.NoError(t, err)
	c := &checkup{}
	c.signing(cfg)
	require.Equal(t, []doctor.Finding{{
		Level: doctor.OK, Check: "signing", Message: `the receiver of destination "app" verifies v1a signatures with the public key ` + publishedPublicKey,
	}}, c.findings)
}
