package catalog

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// deliveries is the content of testdata/<provider>.txtar: the facts about a provider that the
// tests need, and requests with their expected results. testdata/README.md describes the
// files.
type deliveries struct {
	source  source
	samples samples
	cases   []delivery
}

// source is the section that describes the source that receives the deliveries.
type source struct {
	Clock   time.Time         `yaml:"clock"`
	Options *provider.Options `yaml:"options"`
	Secrets []string          `yaml:"secrets"` // {rsa}, {ecdsa}, ... stand for the tests' keys
	// Index of the secret that verifies the delivery.
	Index int `yaml:"index"`
	// Publishes holds the document that the sender publishes at each URL.
	Publishes map[string]string `yaml:"publishes"`
}

// samples is the section about the provider's samples.
type samples struct {
	Types []string `yaml:"types"`
	// Unsigned is true if the signature does not cover the complete body, so that a request with a
	// changed body may still verify.
	Unsigned bool `yaml:"unsigned"`
	// InBody is true if the signature is in the body, so that Sign cannot sign an arbitrary body.
	InBody bool `yaml:"in_body"`
	// Fresh is true if two samples are two events even though both are made with the same id.
	Fresh bool `yaml:"fresh"`
	// Needs lists the places (see the type place) that an event's id requires, with * for a
	// list's index.
	Needs []string `yaml:"needs"`
	// Distinct lists, for each kind of delivery, the places by which the sender distinguishes
	// events. The first list whose places are all present applies. * stands for every member of the
	// body. A place that begins with ? must be present, but does not distinguish events. Attempt
	// lists the places that change from one attempt to the next.
	Distinct [][]string `yaml:"distinct"`
	Attempt  []string   `yaml:"attempt"`
	// Type lists the places in a sample from which the event's type is read. Untyped is the type of
	// a sample without these places; the default is unknown.
	Type    []place `yaml:"type"`
	Untyped string  `yaml:"untyped"`
}

// delivery is a request and its expected result.
type delivery struct {
	kind    string // accepted, refused, unusable or handshake
	name    string
	source  source
	request *provider.Request
	sign    *signSection // nil: the file contains the request as it arrived
	want    outcome
	// published names the publication, such as the sender's documentation, that contains the signed
	// text and the signature as a test vector. It is empty for all other deliveries.
	published string
}

// signSection makes the test sign the request, and lists the changes to make afterwards.
type signSection struct {
	With    string              `yaml:"with"` // default: the first secret
	At      time.Time           `yaml:"at"`   // default: the clock
	Headers map[string][]string `yaml:"headers"`
	URL     string              `yaml:"url"`
	Body    *string             `yaml:"body"`
}

// outcome is the expected result: events, the reason for a refusal, an error message, or the answer
// to a handshake.
type outcome struct {
	events     []expectedEvent
	reason     provider.Reason
	message    string
	unreadable bool
	answer     *provider.Answer
}

type expectedEvent struct {
	ID         string `yaml:"id"`
	IDPrefix   string `yaml:"id_prefix"`
	Same       string `yaml:"same"` // events of one kind have the same id if and only if they have the same mark
	Type       string `yaml:"type"`
	APIVersion string `yaml:"api_version"`
	OccurredAt string `yaml:"occurred_at"`
	Item       string `yaml:"item"`
}

// allDeliveries reads the files once and returns the deliveries by provider.
var allDeliveries = sync.OnceValues(func() (map[string]*deliveries, error) {
	all := map[string]*deliveries{}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d, err := parseDeliveries(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txtar")] = d
	}
	return all, nil
})

// deliveriesOf returns a provider's deliveries.
func deliveriesOf(t testing.TB, name string) *deliveries {
	t.Helper()
	all, err := allDeliveries()
	require.NoError(t, err)
	require.Contains(t, all, name, "provider %s has no testdata/%s.txtar", name, name)
	return all[name]
}

// heading matches a delivery's heading: its kind, the flags for parseRequest, and its name.
var heading = regexp.MustCompile(`^(accepted|refused|unusable|handshake)(?: \(([a-z0-9, ]+)\))?: (.+)$`)

func parseDeliveries(text []byte) (*deliveries, error) {
	d := &deliveries{}
	for _, section := range txtar.Parse(text).Files {
		last := len(d.cases) - 1
		var err error
		switch found := heading.FindStringSubmatch(section.Name); {
		case found != nil:
			c := delivery{kind: found[1], name: found[3], source: d.source}
			c.request, err = parseRequest(section.Data, strings.Split(found[2], ", "))
			d.cases = append(d.cases, c)
		case section.Name == "source" && last < 0:
			err = unmarshal(section.Data, &d.source)
		case section.Name == "samples" && last < 0:
			err = unmarshal(section.Data, &d.samples)
		case last < 0:
			err = errors.New("it belongs to no delivery")
		default:
			err = d.cases[last].read(section)
		}
		if err != nil {
			return nil, fmt.Errorf("section %q: %w", section.Name, err)
		}
	}
	return d, nil
}

// read reads a section that belongs to a delivery.
func (c *delivery) read(section txtar.File) error {
	text := strings.TrimRight(string(section.Data), "\n")
	switch section.Name {
	case "source":
		var own source
		err := unmarshal(section.Data, &own)
		c.source.Options, c.source.Index = cmp.Or(own.Options, c.source.Options), own.Index
		if !own.Clock.IsZero() {
			c.source.Clock = own.Clock
		}
		if own.Secrets != nil {
			c.source.Secrets = own.Secrets
		}
		return err
	case "sign":
		c.sign = &signSection{}
		return unmarshal(section.Data, c.sign)
	case "events":
		return unmarshal(section.Data, &c.want.events)
	case "reason":
		c.want.reason = provider.Reason(text)
	case "error":
		c.want.message = text
	case "unreadable":
		c.want.message, c.want.unreadable = text, true
	case "answer":
		return c.readAnswer(section.Data)
	case "published":
		c.published = text
	default:
		return errors.New("no section has this name")
	}
	return nil
}

func (c *delivery) readAnswer(text []byte) error {
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, body, _ := bytes.Cut(text, []byte("\n\n"))
	c.want.answer = &provider.Answer{
		Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), Body: bytes.TrimRight(body, "\n"),
	}
	return nil
}

// parseRequest reads a request as it arrived. The newline at the end of the section is not part of
// the body.
func parseRequest(text []byte, flags []string) (*provider.Request, error) {
	head, body, _ := bytes.Cut(text, []byte("\n\n"))
	body = bytes.TrimSuffix(body, []byte("\n"))
	lines := strings.Split(strings.TrimSuffix(string(head), "\n"), "\n")
	header, quoted := http.Header{}, false
	for _, flag := range flags {
		var err error
		switch flag {
		case "crlf":
			body = bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n"))
		case "base64":
			body, err = base64.StdEncoding.DecodeString(string(body))
		case "quoted":
			quoted = true
		case "":
		default:
			err = fmt.Errorf("unknown flag %q", flag)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		if quoted && strings.HasPrefix(value, `"`) {
			var err error
			if value, err = strconv.Unquote(value); err != nil {
				return nil, fmt.Errorf("header %s: %w", name, err)
			}
		}
		if !ok {
			return nil, fmt.Errorf("%q is not a header", line)
		}
		header.Add(textproto.CanonicalMIMEHeaderKey(name), value)
	}
	method, target, _ := strings.Cut(strings.TrimSuffix(lines[0], " HTTP/1.1"), " ")
	if strings.HasPrefix(target, "/") {
		target = "https://" + header.Get("Host") + target
	}
	header.Del("Host")
	return &provider.Request{Method: method, URL: prooftest.URL(target), Header: header, Body: body}, nil
}

// unmarshal decodes a section in the same way as the program decodes the configuration.
func unmarshal(text []byte, into any) error {
	return yaml.UnmarshalWithOptions(text, into, yaml.Strict(), yaml.CustomUnmarshaler(func(s *secret.Value, text []byte) error {
		var value string
		err := yaml.Unmarshal(text, &value)
		*s = secret.New(value)
		return err
	}))
}

// options returns the source's options, or examples of the options that the provider requires.
func (s source) options(t testing.TB, name string) provider.Options {
	t.Helper()
	var o provider.Options
	if s.Options != nil {
		o = *s.Options
	} else {
		require.NoError(t, yaml.Unmarshal([]byte(examples()[name]), &o))
	}
	if s.Publishes != nil {
		o.Fetch = s.published()
	}
	return o
}

// published returns the documents that the sender publishes, by URL. A name in braces, such as
// {keys}, stands for a document built from the tests' keys.
func (s source) published() prooftest.Published {
	const name = "sns.amazonaws.com"
	year := prooftest.Now().AddDate(1, 0, 0)
	documents := map[string]func() []byte{
		"{keys}": func() []byte {
			return prooftest.KeySet(prooftest.RSAKey(), prooftest.ECDSAKey(), prooftest.Ed25519Key())
		},
		"{certificate}": func() []byte { return prooftest.SelfSigned(name, prooftest.RSAKey(), year) },
		"{expired certificate}": func() []byte {
			return prooftest.SelfSigned(name, prooftest.RSAKey(), prooftest.Now().Add(-time.Second))
		},
		"{ecdsa certificate}": func() []byte { return prooftest.SelfSigned(name, prooftest.ECDSAKey(), year) },
	}
	published := prooftest.Published{}
	for rawURL, document := range s.Publishes {
		published[rawURL] = []byte(document)
		if made := documents[document]; made != nil {
			published[rawURL] = made()
		}
	}
	return published
}

// keys returns functions that encode the tests' keys, by the names that secrets use.
func keys() map[string]func() string {
	return map[string]func() string{
		"{rsa}": prooftest.RSAPEM, "{rsa base64}": prooftest.RSABase64, "{ecdsa}": prooftest.ECDSAPEM, "{ed25519}": prooftest.Ed25519Hex,
	}
}

// secretOf returns the secret for a source: it replaces the names of the tests' keys with the keys.
func secretOf(text string) secret.Value {
	for name, key := range keys() {
		if strings.Contains(text, name) {
			text = strings.ReplaceAll(text, name, key())
		}
	}
	return secret.New(text)
}

// received returns a delivery's provider, secrets and request.
func (c *delivery) received(t testing.TB, name string) (*provider.Provider, []secret.Value, *provider.Request) {
	t.Helper()
	p := provide(t, name, c.source.options(t, name))
	secrets := make([]secret.Value, len(c.source.Secrets))
	for i, s := range c.source.Secrets {
		secrets[i] = secretOf(s)
	}
	r := &provider.Request{Method: c.request.Method, URL: c.request.URL, Header: c.request.Header.Clone(), Body: bytes.Clone(c.request.Body)}
	if c.sign != nil {
		c.sign.apply(t, p, r, c.source)
	}
	return p, secrets, r
}

// apply signs a request and makes the section's changes. In header values, {ts} is the signed time
// in seconds, and {header} is the value that Sign put into the signature's header. {HEADER} is that
// value in upper case. {signature} is the part of {header} after the last comma or semicolon, such
// as v1=abc, and {mac} is that part without v1=.
func (s *signSection) apply(t testing.TB, p *provider.Provider, r *provider.Request, from source) {
	t.Helper()
	key := secretOf(cmp.Or(s.With, from.Secrets[0]))
	at := from.Clock
	if !s.At.IsZero() {
		at = s.At
	}
	require.NoError(t, p.Sign(r, key, at))
	header := r.Header.Get(signatureHeader(t, p, r, key))
	signature := header[strings.LastIndexAny(header, ",;")+1:]
	values := strings.NewReplacer(
		"{ts}", strconv.FormatInt(at.Unix(), 10), "{header}", header, "{HEADER}", strings.ToUpper(header),
		"{signature}", signature, "{mac}", signature[strings.IndexByte(signature, '=')+1:],
	)
	for name, list := range s.Headers {
		r.Header.Del(name)
		for _, value := range list {
			r.Header.Add(name, values.Replace(value))
		}
	}
	if s.Body != nil {
		r.Body = []byte(*s.Body)
	}
	if s.URL != "" {
		r.URL = prooftest.URL(s.URL)
	}
}
