package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/coverage"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema"
)

// lists finds tokens with too many rights, provider lists that the last pass could not read, and
// events that a list does not contain. It also finds endpoints to which the provider does not send.
// It reads the results of passes from the database and contacts no provider.
func (c *checkup) lists(ctx context.Context, pool *pgxpool.Pool, cfg *config.Config) {
	const check = "backfill"
	read := false
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		s := cfg.Sources[name]
		if s.Backfill == nil || s.Backfill.List == nil {
			continue
		}
		read = true
		if strong := s.Backfill.List.StrongToken; strong != "" && strings.HasPrefix(s.Backfill.Token.Reveal(), strong) {
			c.add(doctor.Warning, check, fmt.Sprintf("the token of source %q begins with %s: it has full access to the account", name, strong),
				"create a token that can only read: "+s.Backfill.List.Rights)
		}
	}
	if !read {
		return
	}
	o, err := outbox.New(outbox.Options{Pool: pool, Schema: schema.Name(cfg.Database.Schema)})
	var states []coverage.State
	if err == nil {
		states, err = o.Coverage().States(ctx)
	}
	if err != nil {
		c.add(doctor.Problem, check, err.Error(), "grant this role the right to read the tables")
		return
	}
	for _, state := range states {
		s, configured := cfg.Sources[string(state.Source)]
		if !configured || s.Backfill == nil || s.Backfill.List == nil {
			continue
		}
		if state.Error != "" {
			fix := "see: " + c.command("backfill status")
			if rights := s.Backfill.List.Rights; rights != "" {
				fix += "; the token needs: " + rights
			}
			c.add(doctor.Warning, check, fmt.Sprintf("the list of source %q cannot be read: %s", state.Source, state.Error), fix)
		}
		if state.Unlisted > 0 {
			c.add(doctor.Warning, check, fmt.Sprintf("in the last two days the webhook of source %q delivered %s that the provider's list does not contain, such as %s", state.Source, counted(int(state.Unlisted), "event"), state.UnlistedEvent),
				"check that the token belongs to the account and the mode of the webhook; if it does, a third party may know the signing secret: replace it")
		}
		if state.Endpoint == coverage.EndpointOff || state.Endpoint == coverage.EndpointForeign {
			c.add(doctor.Warning, check, fmt.Sprintf("the provider of source %q does not deliver to it, as seen on %s: %s", state.Source, shown(state.EndpointAt), state.EndpointWhy),
				"enable the endpoint at the provider, or correct its URL there")
		}
	}
}
