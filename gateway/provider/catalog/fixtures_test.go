package catalog

import (
	"bytes"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// fixture is what the tests of all providers must know of one beyond its
// declaration. Most need none.
type fixture struct {
	// options replace examples(); fetch answers by URL.
	options string
	fetch   func() prooftest.Published
	// key is a secret that fits. Default: prooftest.Secret.
	key func() string
	// unsigned: (part of) the body can be changed, the scheme does not cover it.
	unsigned bool
	// inBody: the signature stands in the body, which therefore must be one of
	// the sender's.
	inBody bool
	// fresh: two samples are two events even with one id.
	fresh bool
	// several events in a sample.
	several bool
	// types that samples are made of.
	types []string
}

// fixtures are one provider each, in alphabetical order.
func fixtures() map[string]fixture {
	return map[string]fixture{
		"adyen": {
			key: func() string { return "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00" }, unsigned: true,
			types: []string{"AUTHORISATION", "REPORT_AVAILABLE", "balancePlatform.transfer.updated"},
		},
		"auth0":     {unsigned: true, types: []string{"user.created", "s"}},
		"aws-sns":   {fetch: prooftest.PublishedSNS, key: prooftest.RSAPEM, unsigned: true, inBody: true, types: []string{"Notification", "UnsubscribeConfirmation"}},
		"basic":     {key: func() string { return "user:" + prooftest.Secret }, unsigned: true},
		"bitbucket": {types: []string{"repo:push", "pullrequest:created", "issue:created"}},
		"braintree": {
			key: func() string { return "integration_public_key:integration_private_key" }, unsigned: true, inBody: true,
			types: []string{"subscription_charged_successfully", "dispute_opened"},
		},
		"calendly":        {types: []string{"invitee.created", "invitee.canceled"}},
		"clerk":           {key: prooftest.Whsec, types: []string{"user.created", "organization.created"}},
		"coinbase":        {types: []string{"charge:confirmed", "charge:created"}},
		"discord":         {key: prooftest.Ed25519Hex, types: []string{"APPLICATION_AUTHORIZED", "interaction.application_command.deploy", "interaction.message_component"}},
		"docusign":        {types: []string{"envelope-completed", "recipient-sent"}},
		"dropbox":         {fresh: true},
		"github":          {types: []string{"push", "issues.opened", "ping", "star.created"}},
		"gitlab":          {key: prooftest.Whsec, types: []string{"push", "merge_request.open", "tag_push"}},
		"gocardless":      {types: []string{"payments.confirmed", "mandates.created", "payments"}},
		"google-pubsub":   {fetch: prooftest.PublishedKeys("https://www.googleapis.com/oauth2/v3/certs"), key: prooftest.RSAPEM, unsigned: true},
		"hmac":            {options: "header: X-Sig\nevent_id: {pointer: /id}", types: []string{"demo.created", "anything"}},
		"hubspot":         {types: []string{"contact.creation", "contact.propertyChange"}},
		"intercom":        {types: []string{"conversation.user.created", "contact.created"}},
		"jira":            {types: []string{"jira:issue_created", "comment_created"}},
		"jwt":             {fetch: prooftest.PublishedKeys("https://issuer.example.com/.well-known/jwks.json"), key: prooftest.RSAPEM, unsigned: true},
		"line":            {types: []string{"message", "follow", "postback", "unfollow"}},
		"linear":          {types: []string{"Issue.create", "Comment.update"}},
		"mailgun":         {unsigned: true, inBody: true, types: []string{"delivered", "failed", "inbound"}},
		"meta":            {types: []string{"page.message", "page.message.echo", "instagram.reaction", "page.feed", "message.text"}},
		"microsoft-graph": {unsigned: true, inBody: true},
		"mollie":          {types: []string{"payment-link.paid", "sales-invoice.issued"}},
		"mux":             {types: []string{"video.asset.ready", "video.upload.created"}},
		"okta":            {unsigned: true},
		"openai":          {key: prooftest.Whsec, types: []string{"response.completed", "batch.failed"}},
		"paddle":          {types: []string{"transaction.completed", "subscription.created", "customer.created"}},
		"pagerduty":       {types: []string{"incident.triggered", "service.updated"}},
		"paypal":          {key: func() string { return "WEBHOOK_ID " + prooftest.RSABase64() }},
		"plaid":           {fetch: func() prooftest.Published { return nil }, key: prooftest.ECDSAPEM, types: []string{"TRANSACTIONS.SYNC_UPDATES_AVAILABLE", "ITEM.ERROR", "PAYMENT_INITIATION.PAYMENT_STATUS_UPDATE"}},
		"postmark": {
			key: func() string { return "user:" + prooftest.Secret }, unsigned: true,
			types: []string{"Bounce", "SpamComplaint", "Delivery", "Open", "Click", "SubscriptionChange", "Inbound"},
		},
		"razorpay":          {types: []string{"payment.captured", "order.paid"}},
		"resend":            {key: prooftest.Whsec, types: []string{"email.delivered", "email.bounced"}},
		"sanity":            {types: []string{"create.post", "delete", "update.page"}},
		"sendgrid":          {key: prooftest.ECDSAPEM, types: []string{"delivered", "bounce"}},
		"sentry":            {types: []string{"issue.created", "event_alert.triggered", "comment"}},
		"shopify":           {types: []string{"orders/create", "app/uninstalled"}},
		"slack":             {types: []string{"message", "message.channel_join", "app_mention"}},
		"standard-webhooks": {key: func() string { return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }, types: []string{"user.created", "invoice.paid"}},
		"stripe":            {types: []string{"invoice.paid", "customer.created", "charge.refunded", "payment_intent.succeeded", "payout.paid", "ping"}},
		"svix":              {key: prooftest.Whsec},
		"telegram":          {key: func() string { return "correct-horse_battery" }, unsigned: true, types: []string{"message", "edited_message", "callback_query"}},
		"token":             {unsigned: true},
		"twilio": {types: []string{
			"message.delivered", "message.received", "call.completed", "call.ringing", "recording.completed", "transcription.completed",
			"conference.participant-join", "room.room-ended", "conversation.onMessageAdded",
		}},
		"twitch":   {types: []string{"channel.follow", "drop.entitlement.grant"}},
		"whatsapp": {types: []string{"message.text", "message.image", "status.read", "message_template_status_update"}},
		"workos":   {types: []string{"dsync.user.created", "user.updated"}},
		"x":        {types: []string{"post.create", "tweet_create_events", "follow_events"}},
		"zendesk":  {types: []string{"zen:event-type:ticket.created"}},
		"zoom":     {types: []string{"meeting.started", "recording.completed"}},
	}
}

// configured lists every provider, and hmac in several shapes.
func configured() map[string]provider.Options { return maps.Clone(allConfigured()) }

// allConfigured reads all the options once.
var allConfigured = sync.OnceValue(func() map[string]provider.Options {
	all := map[string]provider.Options{}
	for _, name := range Names() {
		var o provider.Options
		text := fixtures()[name].options
		if text == "" {
			text = examples()[name]
		}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			panic(err)
		}
		if fetch := fixtures()[name].fetch; fetch != nil {
			o.Fetch = fetch()
		}
		all[name] = o
	}
	all["hmac fields"] = provider.Options{Header: "X-Sig", EventID: provider.EventID{Fields: []string{"/type", "/data", "/data/id"}}}
	all["hmac form"] = provider.Options{Header: "X-Sig", Encoding: "base64", EventID: provider.EventID{Form: "ref"}, Type: provider.Field{Form: "kind"}}
	all["hmac header"] = provider.Options{Header: "X-Sig", Algorithm: "sha512", EventID: provider.EventID{Header: "x-event"}, Type: provider.Field{Header: "x-kind"}}
	all["hmac join"] = provider.Options{Header: "X-Sig-{n}", EventID: provider.EventID{Join: []string{"header:x-shop", "/id"}}, Type: provider.Field{Pointer: "/topic"}}
	all["hmac list"] = provider.Options{
		Header: "X-Sig", Each: "/events", OccurredAt: provider.Clock{Pointer: "/at", Unit: "s"},
		EventID: provider.EventID{Fields: []string{"/id", "header:X-Shop"}, Optional: []string{"/version"}},
	}
	all["hmac body list"] = provider.Options{Header: "X-Sig", Each: "body", EventID: provider.EventID{Pointer: "/event/id"}}
	all["hmac signed id"] = provider.Options{
		Header: "X-Sig", Prefix: "sha256=", Encoding: "base64url", Template: "{method}:{url}:{id}.{ts}.{body}", IDHeader: "x-id",
		TimestampHeader: "x-ts", TimestampUnit: "rfc3339", Type: provider.Field{Pointer: "/list/0/kind"},
		OccurredAt: provider.Clock{Pointer: "/list/0/at", Unit: "ms"},
	}
	all["hmac pairs"] = provider.Options{
		Header: "X-Sig", Template: "{ts}.{body}", SignatureField: "v1", TimestampField: "t", Separator: ";",
		EventID: provider.EventID{Pointer: "/id"}, OccurredAt: provider.Clock{Pointer: "/at"},
	}
	all["token header"] = provider.Options{Header: "X-Token", EventID: provider.EventID{Pointer: "/id"}}
	all["token query"] = provider.Options{Query: "token", EventID: provider.EventID{Form: "id"}, Type: provider.Field{Fixed: "demo.created"}}
	return all
})

// everyProvider runs a test for every provider and shape of the generic ones,
// with a signed sample.
func everyProvider(t *testing.T, test func(t *testing.T, p *provider.Provider, r *provider.Request)) {
	for name, o := range configured() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provide(t, name, o)
			test(t, p, signedSample(t, p, "", "evt_1"))
		})
	}
}

func provide(t testing.TB, name string, o provider.Options) *provider.Provider {
	t.Helper()
	name, _, _ = strings.Cut(name, " ")
	p, err := New(name, o)
	require.NoError(t, err)
	return p
}

// keyOf returns a secret that fits the provider, and can sign.
func keyOf(p *provider.Provider) secret.Value {
	if key := fixtures()[p.Name].key; key != nil {
		return secret.New(key())
	}
	return secret.New(prooftest.Secret)
}

// signing lists the headers that Sign sets.
func signing(t testing.TB, p *provider.Provider, r *provider.Request, key secret.Value) []string {
	t.Helper()
	u := *prooftest.URL("")
	bare := &provider.Request{Method: r.Method, URL: &u, Header: http.Header{}, Body: bytes.Clone(r.Body)}
	for _, name := range []string{"Content-Type"} {
		bare.Header.Set(name, r.Header.Get(name))
	}
	require.NoError(t, p.Sign(bare, key, prooftest.Now()))
	var names []string
	for name := range bare.Header {
		if name != "Content-Type" {
			names = append(names, name)
		}
	}
	return names
}
