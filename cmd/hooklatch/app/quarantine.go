package app

import (
	"github.com/hooklatch/hooklatch/cmd/hooklatch/config"
	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/schema"
)

// makeKeeper makes the quarantine of the gateway, which it ends after.
func (a *App) makeKeeper() (*quarantine.Keeper, error) {
	keeper, err := quarantine.NewKeeper(quarantine.KeeperOptions{
		Pool: a.pools.quarantine, Schema: schema.Name(a.opts.Config.Database.Schema),
		Logger: a.opts.Logger, MeterProvider: a.telemetry.MeterProvider,
	})
	if err == nil {
		a.teardown.Add("quarantine", poolTimeout, keeper.Stop)
	}
	return keeper, err
}

// NewVerifier makes a gateway that does not listen: it verifies what is in quarantine
// by a configuration, and accepts it through an outbox.
func NewVerifier(cfg *config.Config, box *outbox.Outbox) (*gateway.Gateway, error) {
	sources, err := sourcesOf(cfg, box)
	if err != nil {
		return nil, err
	}
	public, err := optionalURL(cfg.Gateway.PublicURL)
	if err != nil {
		return nil, cfg.Problem("gateway.public_url", err.Error())
	}
	opts := cfg.Gateway.Options
	opts.Accepter, opts.Sources, opts.PublicURL = box, sources, public
	return gateway.New(opts)
}
