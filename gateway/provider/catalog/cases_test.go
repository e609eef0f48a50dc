package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/jsonpointer"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// testCase is one delivery of testdata/<provider>/*.json and what comes of it.
type testCase struct {
	Name    string          `json:"name"`
	Options json.RawMessage `json:"options"` // as in the configuration
	Method  string          `json:"method"`  // default: POST
	URL     string          `json:"url"`
	Secrets []string        `json:"secrets"` // configured; default: one
	Headers http.Header     `json:"headers"`
	Body    string          `json:"body"`

	Sign   string `json:"sign"`   // secret to sign with; default: the first one
	Signed string `json:"signed"` // when, from now
	// Unsigned: it is not signed at all.
	Unsigned bool `json:"unsigned"`

	// What happens to the request after it was signed. Placeholders: {ts} the
	// signed time in seconds, {header} the signature header, {HEADER} in upper
	// case, {signature} its last part, {mac} the bare signature.
	Rewrite    map[string][]string `json:"rewrite"`
	RewriteURL string              `json:"rewrite_url"`
	Tampered   *string             `json:"tampered"` // body

	SecretIndex int `json:"secret_index"`
	Want        struct {
		Reason     provider.Reason `json:"reason"`
		Error      string          `json:"error"`
		Unreadable bool            `json:"unreadable"`
		Events     []wantEvent     `json:"events"`
		Answer     *struct {
			Status      int    `json:"status"`
			ContentType string `json:"content_type"`
			Body        string `json:"body"`
		} `json:"answer"`
	} `json:"want"`
}

type wantEvent struct {
	ID         string `json:"id"`
	IDIsPrefix bool   `json:"id_is_prefix"`
	Same       string `json:"same"` // events of one file with the same mark have the same id, others not
	Type       string `json:"type"`
	APIVersion string `json:"api_version"`
	OccurredAt string `json:"occurred_at"`
	Item       string `json:"item"`
}

func TestCases(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		files, err := filepath.Glob(filepath.Join("testdata", name, "*.json"))
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.GreaterOrEqual(t, len(files), 3, "accepted, refused and unusable")
		})
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var cases []testCase
			require.NoError(t, json.Unmarshal(text, &cases), file)
			t.Run(name+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
				t.Parallel()
				marks := map[string]string{}
				for _, c := range cases {
					t.Run(c.Name, func(t *testing.T) { c.run(t, name, marks) })
				}
				ids := map[string]bool{}
				for _, id := range marks {
					ids[id] = true
				}
				require.Len(t, ids, len(marks), "events with different marks have different keys")
			})
		}
	}
}

func (c testCase) run(t *testing.T, name string, marks map[string]string) {
	p, secrets, r := c.delivery(t, name)
	before := string(r.Body)

	if p.Handshake != nil {
		answer, err := p.Handshake(t.Context(), r, secrets, prooftest.Now())
		if want := c.Want.Answer; want != nil {
			require.NoError(t, err)
			require.NotNil(t, answer)
			require.Equal(t, want.Body, string(answer.Body))
			require.Equal(t, provider.Answer{Status: want.Status, ContentType: want.ContentType}, provider.Answer{Status: answer.Status, ContentType: answer.ContentType})
			return
		}
		if err != nil {
			c.requireRefusal(t, err)
			return
		}
		require.Nil(t, answer)
	}
	verified, err := p.Verify(t.Context(), r, secrets, prooftest.Now())
	if c.Want.Reason != "" {
		c.requireRefusal(t, err)
		return
	}
	require.NoError(t, err)
	require.Equal(t, c.SecretIndex, verified.SecretIndex)

	events, err := p.Events(r)
	require.Equal(t, before, string(r.Body))
	if c.Want.Error != "" {
		c.requireRefusal(t, err)
		return
	}
	require.NoError(t, err)
	require.Len(t, events, len(c.Want.Events))
	for i, want := range c.Want.Events {
		got := events[i]
		if want.IDIsPrefix {
			require.True(t, strings.HasPrefix(got.ID, want.ID), got.ID)
			require.LessOrEqual(t, len(got.ID), 255)
		} else {
			require.Equal(t, want.ID, got.ID)
		}
		if want.Same != "" {
			if marks[want.Same] == "" {
				marks[want.Same] = got.ID
			}
			require.Equal(t, marks[want.Same], got.ID)
		}
		var occurred time.Time
		if want.OccurredAt != "" {
			occurred, err = time.Parse(time.RFC3339Nano, want.OccurredAt)
			require.NoError(t, err)
		}
		if got.Item != "" {
			require.Equal(t, jsonpointer.Lookup(gjson.ParseBytes(r.Body), got.Item).Raw, string(got.Part))
		}
		got.ID, got.Part = "", nil
		require.Equal(t, provider.Event{Type: want.Type, APIVersion: want.APIVersion, OccurredAt: occurred, Item: want.Item}, got)
	}
}

func (c testCase) requireRefusal(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	if refused, ok := errors.AsType[*provider.VerifyError](err); ok {
		require.Equal(t, c.Want.Reason, refused.Reason, err)
		return
	}
	unusable, ok := errors.AsType[*provider.EventError](err)
	require.True(t, ok, err)
	require.Equal(t, c.Want.Error, unusable.Message)
	require.Equal(t, c.Want.Unreadable, unusable.Unreadable)
}

// delivery makes the provider and the request of a case.
func (c testCase) delivery(t testing.TB, name string) (*provider.Provider, []secret.Value, *provider.Request) {
	t.Helper()
	var o provider.Options
	if len(c.Options) > 0 {
		require.NoError(t, yaml.UnmarshalWithOptions(c.Options, &o, yaml.Strict(), yaml.CustomUnmarshaler(readSecret)))
	}
	if len(c.Options) == 0 {
		o = configured()[name]
	} else if fetch := fixtures()[name].fetch; fetch != nil {
		o.Fetch = fetch()
	}
	p, err := New(name, o)
	require.NoError(t, err)

	if c.Secrets == nil {
		c.Secrets = []string{keyOf(p).Reveal()}
	}
	var secrets []secret.Value
	for _, s := range c.Secrets {
		secrets = append(secrets, secret.New(s))
	}
	signer := secrets[0]
	if c.Sign != "" {
		signer = secret.New(c.Sign)
	}
	signedAt := prooftest.Now()
	if c.Signed != "" {
		offset, err := time.ParseDuration(c.Signed)
		require.NoError(t, err)
		signedAt = signedAt.Add(offset)
	}
	r := &provider.Request{Method: cmp.Or(c.Method, http.MethodPost), URL: prooftest.URL(c.URL), Header: c.Headers.Clone(), Body: []byte(c.Body)}
	if c.Unsigned {
		return p, secrets, r
	}
	require.NoError(t, p.Sign(r, signer, signedAt))
	c.tamper(t, r, signatureHeader(t, p, r, signer), signedAt)
	return p, secrets, r
}

// readSecret reads a secret among the options, as the configuration does.
func readSecret(s *secret.Value, text []byte) error {
	var value string
	err := yaml.Unmarshal(text, &value)
	*s = secret.New(value)
	return err
}

func (c testCase) tamper(t testing.TB, r *provider.Request, name string, signedAt time.Time) {
	t.Helper()
	header := r.Header.Get(name)
	signature := header[strings.LastIndexAny(header, ",;")+1:]
	values := strings.NewReplacer(
		"{ts}", strconv.FormatInt(signedAt.Unix(), 10),
		"{header}", header,
		"{HEADER}", strings.ToUpper(header),
		"{signature}", signature,
		"{mac}", signature[strings.IndexByte(signature, '=')+1:],
	)
	for name, list := range c.Rewrite {
		r.Header.Del(name)
		for _, value := range list {
			r.Header.Add(name, values.Replace(value))
		}
	}
	if c.Tampered != nil {
		r.Body = []byte(*c.Tampered)
	}
	if c.RewriteURL != "" {
		r.URL = prooftest.URL(c.RewriteURL)
	}
}

// signatureHeader is the header Sign puts the signature into: of those it
// sets, the one that is named so. Empty when there is none.
func signatureHeader(t testing.TB, p *provider.Provider, r *provider.Request, key secret.Value) string {
	t.Helper()
	names := signing(t, p, r, key)
	slices.Sort(names)
	for _, word := range []string{"Signature", "Sig", "Hmac", "Token", "Authorization", "Verification"} {
		for _, name := range names {
			if strings.Contains(name, word) && !strings.Contains(name, "Timestamp") {
				return name
			}
		}
	}
	return ""
}
