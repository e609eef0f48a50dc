package sdktest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// publicBase is the URL under which senders reach the gateway. Some senders sign it.
const publicBase = "https://hooks.example.com"

// npmCase describes what an npm SDK does for one source. The source has the case's name. Every SDK
// verifies a request that we sign. If an SDK can also sign, the test sends a request that the SDK
// signed to the gateway.
type npmCase struct {
	Name      string `json:"name"`
	SDK       string `json:"sdk"`
	Secret    string `json:"secret"`
	PublicKey string `json:"public_key,omitempty"`
	Signs     bool   `json:"signs"`

	provider string // the provider's slug if it differs from the name
	event    string // the sample's type if it is not the usual one
	body     string // JSON that replaces the sample's body
}

func npmCases(t *testing.T) []npmCase {
	t.Helper()
	discordPublic, discordKey, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	sendgridKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	sendgridPrivate, err := x509.MarshalPKCS8PrivateKey(sendgridKey)
	require.NoError(t, err)
	sendgridPublic, err := x509.MarshalPKIXPublicKey(sendgridKey.Public())
	require.NoError(t, err)
	hexSecret := hex.EncodeToString([]byte(textSecret))
	return []npmCase{
		{Name: "adyen", SDK: "@adyen/api-library", Secret: hexSecret, Signs: true},
		{Name: "adyen-platform", SDK: "@adyen/api-library", Secret: hexSecret, Signs: true, provider: "adyen", event: "balancePlatform.transfer.updated"},
		{Name: "braintree", SDK: "braintree", Secret: "public_key:private_key", Signs: true},
		{Name: "clerk", SDK: "svix", Secret: whsec, Signs: true},
		{Name: "discord", SDK: "discord-interactions", Secret: hex.EncodeToString(discordKey), PublicKey: hex.EncodeToString(discordPublic)},
		{Name: "github", SDK: "@octokit/webhooks-methods", Secret: textSecret, Signs: true},
		{Name: "hubspot", SDK: "@hubspot/api-client", Secret: textSecret, Signs: true},
		{Name: "line", SDK: "@line/bot-sdk", Secret: textSecret},
		{Name: "linear", SDK: "@linear/sdk", Secret: textSecret},
		{Name: "mux", SDK: "@mux/mux-node", Secret: textSecret},
		{Name: "openai", SDK: "svix", Secret: whsec, Signs: true},
		{Name: "paddle", SDK: "@paddle/paddle-node-sdk", Secret: textSecret},
		{Name: "razorpay", SDK: "razorpay", Secret: textSecret},
		{Name: "resend", SDK: "svix", Secret: whsec, Signs: true},
		{
			Name: "sendgrid", SDK: "@sendgrid/eventwebhook",
			Secret: base64.StdEncoding.EncodeToString(sendgridPrivate), PublicKey: base64.StdEncoding.EncodeToString(sendgridPublic),
		},
		{Name: "square", SDK: "square", Secret: textSecret},
		{Name: "standard-webhooks", SDK: "standardwebhooks", Secret: whsec, Signs: true},
		{Name: "stripe", SDK: "stripe", Secret: textSecret, Signs: true},
		{Name: "svix", SDK: "svix", Secret: whsec, Signs: true},
		{Name: "twilio", SDK: "twilio", Secret: textSecret, Signs: true},
		{
			Name: "twilio-events", SDK: "twilio", Secret: textSecret, Signs: true, provider: "twilio",
			body: `[{"specversion":"1.0","type":"com.twilio.messaging.message.delivered","id":"EZ1","time":"2026-11-21T12:00:00Z","data":{}}]`,
		},
		{Name: "workos", SDK: "@workos-inc/node", Secret: textSecret, Signs: true},
	}
}

func (c npmCase) source(t *testing.T) gateway.Source {
	t.Helper()
	p, err := catalog.New(cmp.Or(c.provider, c.Name), provider.Options{})
	require.NoError(t, err)
	return gateway.Source{Name: c.Name, Provider: p, Secrets: []gateway.Secret{
		{Value: secret.New(cmp.Or(c.PublicKey, c.Secret))},
	}}
}

// request returns a delivery for the case, signed by us or unsigned.
func (c npmCase) request(p *provider.Provider, sign bool) (*provider.Request, error) {
	now := time.Now()
	r := p.Sample(c.event, "", now)
	r.Method = http.MethodPost
	if c.body != "" {
		r.Body = []byte(c.body)
		r.Header.Set("Content-Type", "application/json")
	}
	var err error
	if r.URL, err = url.Parse(publicBase + "/webhooks/" + c.Name); err == nil && sign {
		err = p.Sign(r, secret.New(c.Secret), now)
	}
	return r, err
}

// npmOutcome is the script's result for a case.
type npmOutcome struct {
	Name  string `json:"name"`
	Error string `json:"error"`
	// Answers holds the gateway's responses to a request that the SDK signed: to the request, to
	// its repetition, and to the request with one byte changed.
	Answers []npmAnswer `json:"answers"`
	// Genuine reports whether the SDK accepts a request that we signed. Tampered reports whether
	// the SDK accepts the same request with one byte changed.
	Genuine  bool `json:"genuine"`
	Tampered bool `json:"tampered"`
}

type npmAnswer struct {
	Status  int    `json:"status"`
	Outcome string `json:"outcome"`
}

// A running gateway accepts requests that the providers' npm SDKs sign, and the SDKs accept
// requests that we sign.
func TestNPMSDKs(t *testing.T) {
	t.Parallel()
	script := filepath.Join(installNPM(t, sdkPackages, "replay.mjs", "sdks.mjs"), "replay.mjs")
	cases := npmCases(t)
	var sources []gateway.Source
	for _, c := range cases {
		sources = append(sources, c.source(t))
	}
	pool := pgtest.New(t)
	outcomes := replay(t, script, cases, startGateway(t, sources, outbox.Options{Pool: pool}), serveRequests(t, cases, sources))

	rows, err := pool.Query(t.Context(), "SELECT source, count(*) FROM hooklatch.processed_events GROUP BY source")
	require.NoError(t, err)
	stored := map[string]int{}
	var source string
	var count int
	_, err = pgx.ForEachRow(rows, []any{&source, &count}, func() error {
		stored[source] = count
		return nil
	})
	require.NoError(t, err)

	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got := outcomes[c.Name]
			require.Empty(t, got.Error)
			require.True(t, got.Genuine, "%s refuses what we sign", c.SDK)
			require.False(t, got.Tampered, "%s accepts anything", c.SDK)
			if !c.Signs {
				require.Empty(t, got.Answers)
				require.Zero(t, stored[c.Name])
				return
			}
			require.Equal(t, []npmAnswer{
				{http.StatusOK, "accepted"},
				{http.StatusOK, "duplicate"},
				{http.StatusUnauthorized, ""},
			}, got.Answers)
			require.Equal(t, 1, stored[c.Name])
		})
	}
}

// startGateway starts a gateway as the program does, configured with the URL of a proxy that does
// not exist. It returns the gateway's base URL.
func startGateway(t *testing.T, sources []gateway.Source, options outbox.Options) string {
	t.Helper()
	options.AcceptTimeout = time.Minute // a busy machine must not cause a 503
	o, err := outbox.New(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, o.Stop(context.WithoutCancel(t.Context()))) })
	public, err := url.Parse(publicBase)
	require.NoError(t, err)
	g, err := gateway.New(gateway.Options{
		Accepter: o, Sources: sources, Listen: "127.0.0.1:0", PublicURL: public,
		MinBodyRate: 1, ReadHeaderTimeout: 2 * time.Minute, ReadTimeout: 2 * time.Minute,
	})
	require.NoError(t, err)
	require.NoError(t, g.Start())
	t.Cleanup(func() { require.NoError(t, g.Stop(context.WithoutCancel(t.Context()))) })
	return "http://" + g.Addr().String()
}

// serveRequests starts a server and returns its base URL. The script fetches each request from the
// server immediately before the SDK verifies or signs it: some SDKs accept a signature for only a
// few seconds.
func serveRequests(t *testing.T, cases []npmCase, sources []gateway.Source) string {
	t.Helper()
	type jsonRequest struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	mux := http.NewServeMux()
	for i, c := range cases {
		for path, sign := range map[string]bool{"GET /unsigned/": false, "GET /signed/": true} {
			mux.HandleFunc(path+c.Name, func(w http.ResponseWriter, _ *http.Request) {
				r, err := c.request(sources[i].Provider, sign)
				if err != nil {
					http.Error(w, err.Error(), http.StatusInternalServerError)
					return
				}
				headers := map[string]string{}
				for name := range r.Header {
					headers[strings.ToLower(name)] = r.Header.Get(name)
				}
				_ = json.NewEncoder(w).Encode(jsonRequest{r.Method, r.URL.String(), headers, string(r.Body)})
			})
		}
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// replay runs the script and returns its outcomes by case name.
func replay(t *testing.T, script string, cases []npmCase, gatewayURL, requestsURL string) map[string]npmOutcome {
	t.Helper()
	input, err := json.Marshal(map[string]any{"gateway": gatewayURL, "requests": requestsURL, "cases": cases})
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	node := exec.CommandContext(t.Context(), "node", script)
	node.Stdin, node.Stdout, node.Stderr = bytes.NewReader(input), &stdout, &stderr
	require.NoError(t, node.Run(), "node: %s", &stderr)
	outcomes := map[string]npmOutcome{}
	for line := range bytes.Lines(stdout.Bytes()) {
		var one npmOutcome
		require.NoError(t, json.Unmarshal(line, &one), "%s", line)
		outcomes[one.Name] = one
	}
	return outcomes
}
