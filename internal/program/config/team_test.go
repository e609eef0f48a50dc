package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

// A destination without a team does not take away the team of the source of the same name.
func TestTeamOf(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{
		Sources:      map[string]config.Source{"crm": {Team: "payments"}, "chat": {Team: "payments"}, "shop": {}},
		Destinations: map[string]config.Destination{"crm": {}, "chat": {Team: "support"}, "mail": {Team: "shop"}},
	}
	for name, want := range map[string]string{"crm": "payments", "chat": "support", "shop": "", "mail": "shop", "none": ""} {
		require.Equal(t, want, cfg.TeamOf(name), name)
	}
}
