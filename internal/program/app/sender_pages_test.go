package app

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// follower acts as the sender that a provider's page describes.
type follower struct {
	secret string // secret as the sender shows it
	// sign returns a delivery of a body, signed with a key.
	sign       func(body, key string) delivery
	one, other string // bodies of two events
	probes     []probe
}

type delivery struct {
	query  string
	header map[string]string
	body   string
}

// probe is a test of the endpoint, with the response that the sender expects.
type probe struct {
	method string
	delivery
	status int
	body   *string // nil for any body
	header map[string]string
}

func digest(make func() hash.Hash, key, text string) []byte {
	m := hmac.New(make, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// signedHex returns a function that puts the hexadecimal HMAC-SHA256 of the body in the named
// header.
func signedHex(name string) func(body, key string) delivery {
	return func(body, key string) delivery {
		return delivery{header: map[string]string{name: hex.EncodeToString(digest(sha256.New, key, body)), "Content-Type": "application/json"}, body: body}
	}
}

func inURL(contentType string, more map[string]string) func(body, key string) delivery {
	return func(body, key string) delivery {
		header := map[string]string{"Content-Type": contentType}
		maps.Copy(header, more)
		return delivery{query: "token=" + key, header: header, body: body}
	}
}

// bareToken puts a JSON Web Token without a prefix in Authorization, as monday.com does.
func bareToken(body, key string) delivery {
	issued := time.Now()
	claims := fmt.Sprintf(`{"accountId":1,"userId":2,"aud":"https://hooks.example.com/webhooks/monday","exp":%d,"iat":%d}`, issued.Add(5*time.Minute).Unix(), issued.Unix())
	signed := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	token := signed + "." + base64.RawURLEncoding.EncodeToString(digest(sha256.New, key, signed))
	return delivery{header: map[string]string{"Authorization": token, "Content-Type": "application/json"}, body: body}
}

func standardWebhook(decode bool) func(body, key string) delivery {
	return func(body, key string) delivery {
		secret := key
		if decode {
			decoded, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
			secret = string(decoded)
		}
		id, at := "msg_"+strconv.Itoa(len(body)), strconv.FormatInt(time.Now().Unix(), 10)
		signature := base64.StdEncoding.EncodeToString(digest(sha256.New, secret, id+"."+at+"."+body))
		return delivery{header: map[string]string{"webhook-id": id, "webhook-timestamp": at, "webhook-signature": "v1," + signature, "Content-Type": "application/json"}, body: body}
	}
}

func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // writing to memory cannot fail
	_ = w.Close()
	return b.String()
}

// followers returns the followers by the name of the page, followed by the number of the YAML block
// if it is not the first.
func followers() map[string]follower {
	const long = "a-secret-of-the-sender-0123456789"
	xero := func(body, key string) delivery {
		return delivery{header: map[string]string{"x-xero-signature": base64.StdEncoding.EncodeToString(digest(sha256.New, key, body))}, body: body}
	}
	xeroEvent := func(tenant string) string {
		return `{"events":[{"resourceUrl":"https://api.xero.com/1","resourceId":"r1","eventDateUtc":"2026-11-25T01:15:39.902","eventType":"UPDATE","eventCategory":"INVOICE","tenantId":"` +
			tenant + `","tenantType":"ORGANISATION"}],"lastEventSequence":1,"firstEventSequence":1,"entropy":"S0m3"}`
	}
	const intent = `{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"S0m3"}`
	accepted := map[string]string{gateway.StatusHeader: "accepted"}
	woo := func(topic, id string) func(body, key string) delivery {
		return func(body, key string) delivery {
			return delivery{header: map[string]string{
				"X-WC-Webhook-Signature": base64.StdEncoding.EncodeToString(digest(sha256.New, key, body)), "Content-Type": "application/json",
				"X-WC-Webhook-Topic": topic, "X-WC-Webhook-Delivery-ID": id,
			}, body: body}
		}
	}
	asanaEvent := func(action string) string {
		return `{"events":[{"user":{"gid":"1"},"created_at":"2026-11-25T20:06:14.000Z","action":"` + action + `","resource":{"gid":"2","resource_type":"task"},"parent":null,"change":{"field":"name"}}]}`
	}
	monday := func(id string) string {
		return `{"event":{"userId":1,"boardId":2,"pulseId":3,"type":"update_name","triggerTime":"2026-11-25T20:06:14.000Z","subscriptionId":4,"triggerUuid":"` + id + `"}}`
	}
	mail := func(kind, more string) string {
		return "type=" + kind + "&fired_at=2026-11-25+21%3A35%3A57&data%5Bid%5D=8a25ff1d98&data%5Blist_id%5D=a6b5da1054&data%5Bemail%5D=jon%40example.com" + more
	}
	// mails returns deliveries of events in the same second, which differ only in one field.
	mails := func() []probe {
		probes := []probe{{method: http.MethodGet, delivery: delivery{query: "token=" + long}, status: 200}}
		for _, event := range []string{
			mail("unsubscribe", "&data%5Baction%5D=unsub"), mail("unsubscribe", "&data%5Baction%5D=delete"),
			mail("unsubscribe", "&data%5Baction%5D=unsub&data%5Breason%5D=manual"), mail("unsubscribe", "&data%5Baction%5D=unsub&data%5Breason%5D=abuse"),
			mail("cleaned", "&data%5Bcampaign_id%5D=c1"), mail("cleaned", "&data%5Bcampaign_id%5D=c2"),
			mail("campaign", "&data%5Bstatus%5D=sent"), mail("campaign", "&data%5Bstatus%5D=canceled"),
			mail("upemail", "&data%5Bold_email%5D=a%40example.com"), mail("upemail", "&data%5Bold_email%5D=b%40example.com"),
			mail("upemail", "&data%5Bold_email%5D=b%40example.com&data%5Bnew_email%5D=c%40example.com"),
			mail("profile", "&data%5Bmerges%5D%5BFNAME%5D=Jon"), mail("profile", "&data%5Bmerges%5D%5BFNAME%5D=John"),
			mail("profile", "&data%5Bmerges%5D%5BSIZE%5D=XL"),
		} {
			probes = append(probes, probe{method: http.MethodPost, delivery: inURL("application/x-www-form-urlencoded", nil)(event, long), status: 200, header: accepted})
		}
		return probes
	}
	bearer := func(more map[string]string) func(body, key string) delivery {
		return func(body, key string) delivery {
			d := delivery{header: map[string]string{"Authorization": "Bearer " + key, "Content-Type": "application/cloudevents+json"}, body: body}
			maps.Copy(d.header, more)
			return d
		}
	}
	permission := probe{
		method: http.MethodOptions, delivery: delivery{header: map[string]string{"WebHook-Request-Origin": "events.example.com"}}, status: 200,
		header: map[string]string{"WebHook-Allowed-Origin": "events.example.com"},
	}
	return map[string]follower{
		"xero": {secret: long, sign: xero, one: xeroEvent("t1"), other: xeroEvent("t2"), probes: []probe{
			{method: http.MethodPost, delivery: xero(intent, long), status: 200, body: new("")},
			{method: http.MethodPost, delivery: xero(intent, "another"), status: 401, body: new("")},
		}},
		"trello": {secret: long, sign: func(body, key string) delivery {
			signature := digest(sha1.New, key, body+"https://hooks.example.com/webhooks/trello")
			return delivery{header: map[string]string{"X-Trello-Webhook": base64.StdEncoding.EncodeToString(signature), "Content-Type": "application/json"}, body: body}
		}, one: `{"action":{"id":"a1","type":"updateCard","date":"2026-11-25T20:02:20.000Z"},"model":{}}`, other: `{"action":{"id":"a2","type":"updateCard","date":"2026-11-25T20:02:20.000Z"},"model":{}}`,
			probes: []probe{{method: http.MethodHead, status: 200}}},
		"woocommerce": {secret: long, sign: woo("order.updated", "d1"), one: `{"id":7,"date_modified_gmt":"2026-11-25T20:02:20"}`, other: `{"id":7,"date_modified_gmt":"2026-11-25T20:02:21"}`, probes: []probe{
			{method: http.MethodPost, delivery: delivery{header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, body: "webhook_id=3"}, status: 200},
			{method: http.MethodPost, delivery: woo("order.deleted", "d2")(`{"id":7}`, long), status: 200, header: accepted},
			{method: http.MethodPost, delivery: woo("order.deleted", "d3")(`{"id":7}`, long), status: 200, header: accepted}, // the same order was restored, and deleted again
			{method: http.MethodPost, delivery: woo("action.woocommerce_add_to_cart", "d4")(`{"action":"woocommerce_add_to_cart","arg":"1"}`, long), status: 200, header: accepted},
		}},
		"mailchimp": {secret: long, sign: inURL("application/x-www-form-urlencoded", nil), one: mail("subscribe", ""), other: mail("subscribe", "&data%5Bnew_id%5D=1"),
			probes: mails()},
		"nylas": {secret: long, sign: func(body, key string) delivery {
			d := signedHex("X-Nylas-Signature")(packed(body), key)
			d.header["Content-Encoding"] = "gzip"
			return d
		}, one: `{"specversion":"1.0","type":"message.created","source":"/google/emails","id":"n1","time":1732575192,"data":{}}`,
			other: `{"specversion":"1.0","type":"message.created","source":"/google/emails","id":"n2","time":1732575192,"data":{}}`,
			probes: []probe{
				{method: http.MethodGet, delivery: delivery{query: "challenge=bc609b38"}, status: 200, body: new("bc609b38")},
				{method: http.MethodPost, delivery: signedHex("X-Nylas-Signature")(`{"id":"n3","type":"message.created"}`, long), status: 200},
			}},
		"asana": {secret: long, sign: signedHex("X-Hook-Signature"), one: asanaEvent("changed"), other: asanaEvent("deleted"), probes: []probe{
			{method: http.MethodPost, delivery: delivery{header: map[string]string{"X-Hook-Secret": "b537207f20cbfa02"}}, status: 200, header: map[string]string{"X-Hook-Secret": "b537207f20cbfa02"}},
			{method: http.MethodPost, delivery: signedHex("X-Hook-Signature")(`{"events":[]}`, long), status: 200},
		}},
		"monday": {secret: long, sign: inURL("application/json", nil), one: monday("u1"), other: monday("u2"), probes: []probe{
			{method: http.MethodPost, delivery: inURL("application/json", nil)(`{"challenge":"3eZbrw1a"}`, long), status: 200, body: new(`{"challenge":"3eZbrw1a"}`)},
		}},
		"monday 2": {secret: long, sign: bareToken, one: monday("u1"), other: monday("u2"), probes: []probe{
			{method: http.MethodPost, delivery: bareToken(`{"challenge":"3eZbrw1a"}`, long), status: 200, body: new(`{"challenge":"3eZbrw1a"}`)},
		}},
		"cloudevents": {secret: long, sign: bearer(nil), one: `{"specversion":"1.0","id":"1","source":"/a","type":"made","time":"2026-11-25T20:02:20Z"}`,
			other: `{"specversion":"1.0","id":"1","source":"/b","type":"made","time":"2026-11-25T20:02:20Z"}`, probes: []probe{permission}},
		"cloudevents 2": {secret: long, sign: func(body, key string) delivery {
			return bearer(map[string]string{"ce-id": strconv.Itoa(len(body)), "ce-source": "/a", "ce-type": "made", "Content-Type": "text/plain"})(body, key)
		}, one: "data", other: "other data", probes: []probe{permission}},
		"polar":   {secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte(long)), sign: standardWebhook(true), one: `{"type":"order.paid"}`, other: `{"type":"order.created"}`},
		"polar 2": {secret: "whsec_" + long, sign: standardWebhook(false), one: `{"type":"order.paid"}`, other: `{"type":"order.created"}`},
		"supabase": {secret: long, sign: func(body, key string) delivery {
			return delivery{header: map[string]string{"X-Webhook-Token": key, "Content-Type": "application/json"}, body: body}
		}, one: `{"type":"UPDATE","schema":"public","table":"orders","record":{"id":1,"updated_at":"a"},"old_record":{"id":1,"updated_at":"0"}}`,
			other: `{"type":"UPDATE","schema":"public","table":"orders","record":{"id":1,"updated_at":"b"},"old_record":{"id":1,"updated_at":"a"}}`},
		"getstream": {secret: long, sign: func(body, key string) delivery {
			d := signedHex("X-Signature")(body, key)
			d.header["X-Webhook-Id"], d.header["Content-Encoding"], d.body = fmt.Sprintf("%x", sha256.Sum256([]byte(body))), "gzip", packed(body)
			return d
		}, one: `{"type":"message.new","created_at":"2026-11-25T20:02:20Z"}`, other: `{"type":"message.read","created_at":"2026-11-25T20:02:20Z"}`},
		"bitrise": {secret: long, sign: inURL("application/json", map[string]string{"Bitrise-Event-Type": "build/finished"}),
			one: `{"app_slug":"a","build_slug":"b","build_number":3,"build_status":1}`, other: `{"app_slug":"a","build_slug":"c","build_number":4,"build_status":1}`},
	}
}

var (
	yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```")
	variable  = regexp.MustCompile(`\$\{(\w+)\}`)
)

// The pages of senders with a generic provider work as written. The test configures each source
// from its page, sends the sender's probes, and delivers events as the sender does.
func TestPagesOfGenericSendersAreFollowed(t *testing.T) {
	t.Parallel()
	const directory = "../../../gateway/provider/internal/pages/others"
	pages, err := filepath.Glob(filepath.Join(directory, "*.md.tmpl"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	left := followers()
	for _, page := range pages {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		blocks := yamlBlock.FindAllStringSubmatch(string(content), -1)
		require.NotEmpty(t, blocks, page)
		for i, block := range blocks {
			name := strings.TrimSuffix(filepath.Base(page), ".md.tmpl")
			if i > 0 {
				name += " " + strconv.Itoa(i+1)
			}
			f, ok := left[name]
			require.True(t, ok, "no follower exists for block %d of %s", i+1, page)
			delete(left, name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f.follow(t, strings.ReplaceAll(block[2], "\n"+block[1], "\n")[len(block[1]):])
			})
		}
	}
	require.Empty(t, left)
}

func (f follower) follow(t *testing.T, source string) {
	t.Helper()
	last := ""
	for _, match := range variable.FindAllStringSubmatch(source, -1) {
		last = match[1]
	}
	cfg, err := config.Parse("page.yaml", []byte(source), func(name string) (string, bool) {
		if name == last {
			return f.secret, true
		}
		return "whsec_" + base64.StdEncoding.EncodeToString([]byte("some other secret of the sender")), true
	})
	require.NoError(t, err)
	sources, err := sourcesOf(cfg, nil)
	require.NoError(t, err)
	require.Len(t, sources, 1)
	box, err := outbox.New(outbox.Options{Pool: pgtest.New(t), AcceptTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
	g, err := gateway.New(gateway.Options{Accepter: box, Sources: sources})
	require.NoError(t, err)
	server := httptest.NewServer(g.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, g.Stop(context.Background()))
	})
	send := func(method string, d delivery) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/webhooks/"+sources[0].Name, strings.NewReader(d.body))
		require.NoError(t, err)
		r.URL.RawQuery = d.query
		for name, value := range d.header {
			r.Header.Set(name, value)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response, string(answer)
	}
	for _, p := range f.probes {
		response, answer := send(p.method, p.delivery)
		require.Equal(t, p.status, response.StatusCode, "%s %q: %s", p.method, p.delivery.body, answer)
		if p.body != nil {
			require.Equal(t, *p.body, answer)
		}
		for name, value := range p.header {
			require.Equal(t, value, response.Header.Get(name))
		}
	}
	for _, step := range []struct{ body, key, status string }{
		{f.one, "not-" + f.secret, ""}, {f.one, f.secret, "accepted"}, {f.one, f.secret, "duplicate"}, {f.other, f.secret, "accepted"}, {f.one, f.secret, "duplicate"},
	} {
		response, answer := send(http.MethodPost, f.sign(step.body, step.key))
		if step.status == "" {
			require.Equal(t, http.StatusUnauthorized, response.StatusCode, answer)
			continue
		}
		require.Equal(t, http.StatusOK, response.StatusCode, answer)
		require.Equal(t, step.status, response.Header.Get(gateway.StatusHeader), step.body)
	}
}
