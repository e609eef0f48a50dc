package cli

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/app/selfsigned"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

func TestCheckSaysHowLongACertificateLasts(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Now()
	for _, test := range []struct {
		name        string
		from, until time.Duration
		level       doctor.Level
		message     string
	}{
		{"long", -day, 15 * day, doctor.OK, "the certificate of gateway.tls is valid until "},
		{"soon", -day, 13 * day, doctor.Warning, "the certificate of gateway.tls expires on "},
		{"expired", -2 * day, -day, doctor.Problem, "the certificate of gateway.tls expired on "},
		{"not yet", day, 90 * day, doctor.Problem, "the certificate of gateway.tls is not valid before "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, _, err := selfsigned.Write(dir, now.Add(test.from), now.Add(test.until))
			require.NoError(t, err)
			cfg, err := config.Parse(filepath.Join(dir, "hooklatch.yaml"), []byte("gateway: {tls: {cert_file: tls.crt, key_file: tls.key}}"), nil)
			require.NoError(t, err)
			c := &checkup{}
			c.certificates(cfg, now)
			require.Len(t, c.findings, 1)
			require.Equal(t, test.level, c.findings[0].Level)
			require.Contains(t, c.findings[0].Message, test.message)
		})
	}
}
