package app

import (
	"context"
	"errors"
	"sync"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/internal/moves"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
	"github.com/hooklatch/hooklatch/schema"
)

// makeKeeper creates the quarantine of the gateway. The quarantine stops after the gateway.
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

// NewVerifier returns a function that verifies quarantined deliveries with a configuration and
// accepts them through an outbox. Call stop when the function is no longer needed.
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

// reasonMoved is the reason for a refusal in a cell that the delivery's source has left.
const reasonMoved = "source_moved"

// verdictOf converts the gateway's result into a verdict. A refusal becomes a verdict, unless an
// error of Hooklatch caused it: verdictOf returns such an error.
func verdictOf(came outbox.Acceptance, err error) (quarantine.Verdict, error) {
	if moves.Refused(err) {
		return quarantine.Verdict{Refused: reasonMoved}, nil
	}
	if refused, is := errors.AsType[*gateway.RefusedError](err); is && !refused.Ours {
		return quarantine.Verdict{Refused: refused.Reason}, nil
	}
	if err != nil {
		return quarantine.Verdict{}, err
	}
	return quarantine.Verdict{New: came.New()+came.Held() > 0}, nil
}

// deafGateway creates a gateway that does not listen.
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

// verifier verifies quarantined deliveries with the current configuration, for bulk runs.
type verifier struct {
	config func() *config.Config
	outbox *outbox.Outbox

	mu   sync.RWMutex // held during a verification; guards the fields below
	of   *config.Config
	made quarantine.Verify
	end  func(context.Context) error // stops made
}

// verify implements quarantine.Verify.
func (v *verifier) verify(ctx context.Context, d *quarantine.Delivery) (quarantine.Verdict, error) {
	if err := v.renew(ctx, v.config()); err != nil {
		return quarantine.Verdict{}, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.made(ctx, d)
}

// renew replaces the function in the field made with one for cfg, and stops the former function. It
// does nothing if the field already has the function for cfg.
func (v *verifier) renew(ctx context.Context, cfg *config.Config) error {
	v.mu.RLock()
	same := v.of == cfg
	v.mu.RUnlock()
	if same {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == cfg {
		return nil
	}
	made, end, err := NewVerifier(cfg, v.outbox)
	if err != nil {
		return err
	}
	former := v.end
	v.of, v.made, v.end = cfg, made, end
	if former != nil {
		err = former(context.WithoutCancel(ctx))
	}
	return err
}

// stop stops the verifier, which must not be used afterwards.
func (v *verifier) stop(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.end == nil {
		return nil
	}
	return v.end(ctx)
}
