package app

import (
	"context"
	"errors"

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

// NewVerifier verifies what is in quarantine by a configuration, and accepts it through an
// outbox, until it is stopped.
func NewVerifier(cfg *config.Config, box *outbox.Outbox) (verify quarantine.Verify, stop func(context.Context) error, err error) {
	verifier, err := deafGateway(cfg, box)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, d *quarantine.Delivery) (quarantine.Verdict, error) {
		came, err := verifier.AcceptAgain(ctx, d)
		return verdictOf(came, err)
	}, verifier.Stop, nil
}

// verdictOf tells a verdict from what is none.
func verdictOf(came outbox.Acceptance, err error) (quarantine.Verdict, error) {
	if refused, is := errors.AsType[*gateway.RefusedError](err); is && !refused.Ours {
		return quarantine.Verdict{Refused: refused.Reason}, nil
	}
	if err != nil {
		return quarantine.Verdict{}, err
	}
	return quarantine.Verdict{New: came.New()+came.Held() > 0}, nil
}

// deafGateway is one that does not listen.
func deafGateway(cfg *config.Config, box *outbox.Outbox) (*gateway.Gateway, error) {
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
