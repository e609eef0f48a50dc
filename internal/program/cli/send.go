package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/testevent"
	"github.com/hooklatch/hooklatch/internal/safetext"
)

// sendOptions contains the flags of the send command.
type sendOptions struct {
	url             string
	eventType, id   string
	times, parallel int
	headers         []string
	newIDs, show    bool
}

func (c *cli) newSend() *cobra.Command {
	var opts sendOptions
	cmd := &cobra.Command{
		Use:   "send SOURCE [FILE]",
		Short: "Sign a test event as its provider does, and deliver it",
		Long: `Sign an event as the provider of SOURCE does, with the source's first secret that is
valid now, and deliver the event to the gateway.

The body is read from FILE ("-" is standard input), or is the provider's sample. All
deliveries of one call are the same event, unless --new-ids is given: the first is
accepted and the others are duplicates. If the provider puts the event id into the body,
a FILE is sent unchanged, with the id that it contains. If the provider puts the id into
an unsigned header, the deliveries of --new-ids with a FILE look like replays: every
delivery but the first is marked as a suspected replay.`,
		Example: "  " + c.Name + " send stripe --type invoice.paid --times 340 --parallel 64\n" +
			"  " + c.Name + " send github push.json --header X-GitHub-Event=push",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case opts.times < 1:
				return wrongCount("times", opts.times)
			case opts.parallel < 1:
				return wrongCount("parallel", opts.parallel)
			case opts.newIDs && opts.id != "":
				return misused("--id and --new-ids exclude each other")
			case opts.show && c.asJSON:
				return misused("--show and --json exclude each other")
			}
			s, err := c.newSender(args[0], opts)
			if err != nil {
				return err
			}
			if len(args) == 2 {
				if s.file, err = c.readBody(args[1]); err != nil {
					return err
				}
			}
			return s.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.url, "url", "", "base `URL` of the gateway (default the address in gateway.listen)")
	flags.StringVar(&opts.eventType, "type", "", "`type` of the event (default one of the provider's common types)")
	flags.StringVar(&opts.id, "id", "", "`id` of the event (default a new id for each call)")
	flags.IntVar(&opts.times, "times", 1, "deliver the event this many `times`")
	flags.IntVar(&opts.parallel, "parallel", 1, "make up to this `number` of deliveries simultaneously")
	flags.StringArrayVar(&opts.headers, "header", nil, "set a header, given as `name=value`; may be repeated")
	flags.BoolVar(&opts.newIDs, "new-ids", false, "give each delivery a new event id")
	flags.BoolVar(&opts.show, "show", false, "print the first request before sending it")
	c.jsonFlag(cmd)
	return cmd
}

// sender delivers signed events to one source.
type sender struct {
	*cli
	*testevent.Sender

	opts   sendOptions
	source string
	file   []byte // nil for the provider's sample
}

func (c *cli) newSender(source string, opts sendOptions) (*sender, error) {
	headers, err := parseHeaders(opts.headers)
	if err != nil {
		return nil, err
	}
	base, err := baseURL(opts.url, "a gateway", "http://127.0.0.1:8080")
	if err != nil {
		return nil, err
	}
	cfg, err := c.loadConfig()
	if err != nil {
		if _, configured := errors.AsType[config.Problems](err); !configured {
			return nil, fmt.Errorf("%w, or create one with: %s dev", err, c.Name)
		}
		return nil, err
	}
	if _, err := sourceOf(cfg, source); err != nil {
		return nil, err
	}
	made, err := testevent.New(cfg, source, base, opts.parallel)
	if errors.Is(err, testevent.ErrNoSecret) {
		return nil, fmt.Errorf("%w; see: %s", err, c.command("check"))
	}
	if err != nil {
		return nil, err
	}
	made.Headers = headers
	if len(cfg.Cells) > 0 {
		c = c.inCell(cfg.Sources[source].InCell()) // the command that shows the event must name the cell
	}
	return &sender{cli: c, Sender: made, opts: opts, source: source}, nil
}

// baseURL parses --url, the base URL of a server. It returns nil if the flag was not set. The
// parameter server describes the server in errors, such as "a gateway".
func baseURL(given, server, example string) (*url.URL, error) {
	if given == "" {
		return nil, nil
	}
	base, err := testevent.BaseURL(given)
	if err != nil {
		return nil, misused("--url %q: it must be the base URL of %s, such as %s", given, server, example)
	}
	return base, nil
}

func parseHeaders(pairs []string) (http.Header, error) {
	headers := http.Header{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, misused("--header %q: it must be name=value", pair)
		}
		headers.Add(strings.TrimSpace(name), value)
	}
	return headers, nil
}

func (c *cli) readBody(path string) ([]byte, error) {
	if path == "-" {
		body, err := io.ReadAll(c.Stdin)
		return nonNil(body), err
	}
	body, err := os.ReadFile(path)
	return nonNil(body), err
}

// nonNil returns an empty slice for nil, because nil means that no file was given.
func nonNil(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}

// event returns the unsigned request for one event.
func (s *sender) event() *provider.Request {
	r := s.Sample(s.opts.eventType, s.opts.id)
	if s.file != nil {
		r.Body = s.file
	}
	return r
}

func (s *sender) run(ctx context.Context) error {
	defer s.Close()
	event := s.event()
	if s.opts.show {
		if err := s.print(event); err != nil {
			return err
		}
	}
	report := s.deliverAll(ctx, event)
	if err := report.unreachable(s); err != nil {
		return err
	}
	report.EventID = s.idOf(event)
	if err := report.print(s.Stdout, s.asJSON); err != nil {
		return err
	}
	if report.EventID != "" && report.Accepted > 0 && !s.asJSON {
		fmt.Fprintf(s.Stdout, "show it with: %s\n", s.command("events show "+safetext.Operands(s.source, report.EventID)))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !report.allAccepted() {
		return errFound
	}
	return nil
}

// idOf returns the event id that the gateway will find, or an empty id if there is not exactly one.
func (s *sender) idOf(event *provider.Request) string {
	if s.opts.newIDs {
		return ""
	}
	return s.IDOf(event)
}

// print prints the request as it is sent.
func (s *sender) print(event *provider.Request) error {
	r, err := s.Sign(event)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout, "%s %s\n", r.Method, s.Target.URL(r.URL))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			fmt.Fprintf(s.Stdout, "%s: %s\n", name, value)
		}
	}
	_, err = fmt.Fprintf(s.Stdout, "\n%s\n\n", r.Body)
	return err
}
