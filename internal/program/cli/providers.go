package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/firstrun"
	"github.com/hooklatch/hooklatch/internal/program/testevent"
)

func (c *cli) newProviders() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "providers [NAME]",
		Short: "Show the supported senders of webhooks",
		Long: `List the supported kinds of senders. With NAME, describe one sender: how it signs, when
two of its deliveries are the same event, how long it waits for a response, how it
retries, and how to set it up on both sides. If sources are configured, their URLs are
shown.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := c.loadIfAny()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return c.listProviders(cfg)
			}
			return c.showProvider(args[0], cfg)
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

// loadIfAny returns the configuration. Without --config, it returns an empty configuration if the
// file is missing or has problems: the user may be about to write or correct it.
func (c *cli) loadIfAny() (*config.Config, error) {
	cfg, err := c.loadConfig()
	if err == nil {
		return cfg, nil
	}
	if c.configPath != "" {
		return nil, err
	}
	if !errors.Is(err, config.ErrNoFile) {
		c.complain(fmt.Errorf("the configuration has problems and is ignored; list them with: %s", c.command("check")))
	}
	empty := config.Default()
	return &empty, nil
}

// DescribedSource is a configured source of a provider.
type DescribedSource struct {
	Name string `json:"name"`
	URL  string `json:"url"` // URL to enter at the sender
}

// Described is a provider, as --json prints it.
type Described struct {
	Name        string             `json:"name"`
	Title       string             `json:"title"`
	Confirmed   provider.Confirmed `json:"confirmed"`
	Signing     string             `json:"signing"`
	KeyRule     string             `json:"key_rule"`
	Keyless     bool               `json:"keyless"`
	Methods     []string           `json:"methods"`
	Handshake   bool               `json:"handshake"`
	OwnAnswer   bool               `json:"own_answer"`
	UnsignedID  bool               `json:"unsigned_id"`
	AnyBody     bool               `json:"unsigned_body"`
	ReplayGuard bool               `json:"replay_guard"`
	Deadline    string             `json:"deadline,omitempty"`
	Retries     string             `json:"retry_window,omitempty"`
	Resends     string             `json:"resend_window,omitempty"`
	Floor       string             `json:"floor"`
	FloorReason string             `json:"floor_reason"`
	OldSecrets  bool               `json:"old_secret_retries"`
	MaxBody     int64              `json:"max_body,omitempty"`
	OwnHeaders  []string           `json:"own_headers"`
	Options     []string           `json:"options"`
	Setup       []string           `json:"setup"`
	Notes       []string           `json:"notes"`
	Backfill    string             `json:"backfill,omitempty"`
	Docs        string             `json:"docs,omitempty"`
	Snippet     string             `json:"configuration"`
	Sources     []DescribedSource  `json:"sources"`
}

func describe(name string, cfg *config.Config) (Described, error) {
	p, err := catalog.Describe(name)
	if err != nil {
		return Described{}, err
	}
	about := p.About
	d := Described{
		Name: name, Title: p.Title, Confirmed: about.Confirmed, Signing: about.Signing, KeyRule: about.KeyRule,
		Keyless: p.Keyless, Methods: p.Methods, Handshake: p.Handshake != nil, OwnAnswer: p.Answer != nil,
		UnsignedID: p.UnsignedID, AnyBody: p.UnsignedBody, ReplayGuard: p.ReplayToken != nil,
		Floor: config.FormatDuration(p.Floor()), FloorReason: config.WhyFloor(p.Provider), OldSecrets: p.OldSecretRetries,
		MaxBody: p.MaxBody, OwnHeaders: listed(p.HeaderFamilies), Options: listed(p.Options), Notes: listed(about.Notes),
		Backfill: about.Backfill, Docs: about.Docs, Snippet: snippetOf(p), Setup: []string{}, Sources: []DescribedSource{},
	}
	if p.Deadline > 0 {
		d.Deadline = config.FormatDuration(p.Deadline)
	}
	if p.RetryWindow > 0 {
		d.Retries = config.FormatDuration(p.RetryWindow)
	}
	if p.ResendWindow > 0 {
		d.Resends = config.FormatDuration(p.ResendWindow)
	}
	for _, source := range slices.Sorted(maps.Keys(cfg.Sources)) {
		if cfg.Sources[source].Provider != name {
			continue
		}
		to, err := testevent.NewTarget(cfg, source, nil)
		if err != nil {
			return Described{}, err
		}
		d.Sources = append(d.Sources, DescribedSource{Name: source, URL: to.Signed.String()})
	}
	url := "https://YOUR-HOST/webhooks/" + name
	if len(d.Sources) == 1 {
		url = d.Sources[0].URL
	}
	for _, step := range about.Setup {
		d.Setup = append(d.Setup, strings.ReplaceAll(step, "{url}", url))
	}
	return d, nil
}

// snippetOf returns a source of the provider in the configuration's format.
func snippetOf(p catalog.Description) string {
	var b strings.Builder
	b.WriteString("sources:\n" + firstrun.Source(p, "  ", firstrun.Reference(catalog.SecretVariable(p.Name))))
	if p.SignsURL {
		fmt.Fprintf(&b, "    public_url: https://hooks.example.com/webhooks/%s # or gateway.public_url\n", p.Name)
	}
	return b.String()
}

func (c *cli) listProviders(cfg *config.Config) error {
	all := []Described{}
	for _, name := range catalog.Names() {
		d, err := describe(name, cfg)
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	if c.asJSON {
		return PrintJSON(c.Stdout, all)
	}
	t := newTable(c.Stdout, "NAME", "SENDER", "SIGNATURE BY", "WAITS", "RETRIES", "RESENDS", "FLOOR", "SOURCES")
	for _, d := range all {
		var names []string
		for _, s := range d.Sources {
			names = append(names, s.Name)
		}
		t.row(d.Name, d.Title, strings.Join(d.Confirmed.Signature.Names(), ","), cmp.Or(d.Deadline, "-"), cmp.Or(d.Retries, "-"), cmp.Or(d.Resends, "-"), d.Floor, strings.Join(names, ", "))
	}
	return t.flush()
}
