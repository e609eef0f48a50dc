package sender

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/entra"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	graphApp    = "8e460676-ae3f-4b1e-8790-ee0fb5d6148f"
	graphTenant = "84bd8158-6d4d-4958-8b9f-9d6445542f95"
	otherTenant = "aaaabbbb-0000-4ccc-8111-dddd2222eeee"
)

// graphClaims returns a token's claims as Graph's documentation shows them.
func graphClaims() jwt.MapClaims {
	return jwt.MapClaims{
		"aud": graphApp, "iss": "https://sts.windows.net/" + graphTenant + "/", "tid": graphTenant, "ver": "1.0",
		"appid": graphPublisher, "appidacr": "2", "iat": prooftest.Now().Add(-time.Hour).Unix(), "nbf": prooftest.Now().Add(-time.Hour).Unix(),
		"exp": prooftest.Now().Add(time.Hour).Unix(),
	}
}

func graphToken(t *testing.T, key crypto.Signer, changes jwt.MapClaims) string {
	t.Helper()
	claims := graphClaims()
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = prooftest.KeyID(key)
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

// graphKeySet publishes keys as Microsoft does: each key contains the issuer whose tokens it
// signs.
func graphKeySet(t *testing.T, issuers map[string]crypto.Signer) prooftest.Published {
	t.Helper()
	var all []map[string]any
	for _, issuer := range slices.Sorted(maps.Keys(issuers)) {
		var set struct {
			Keys []map[string]any `json:"keys"`
		}
		require.NoError(t, json.Unmarshal(prooftest.KeySet(issuers[issuer]), &set))
		set.Keys[0]["issuer"] = issuer
		all = append(all, set.Keys[0])
	}
	return prooftest.Published{entra.KeysURL: prooftest.Must(json.Marshal(map[string]any{"keys": all}))}
}

// richDelivery returns a delivery with some tenants' resource data.
func richDelivery(tokens any, tenants ...string) *provider.Request {
	items := []map[string]any{}
	for _, tenant := range tenants {
		items = append(items, map[string]any{
			"id": "1", "clientState": prooftest.Secret, "tenantId": tenant, "changeType": "created", "encryptedContent": map[string]any{"data": "AAAA"},
		})
	}
	body := prooftest.Must(json.Marshal(map[string]any{"value": items, "validationTokens": tokens}))
	return &provider.Request{Method: http.MethodPost, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

func TestGraphProvesValidationTokens(t *testing.T) {
	t.Parallel()
	personal := prooftest.Must(rsa.GenerateKey(rand.Reader, 2048)) // signs for one tenant only
	foreign := prooftest.Must(rsa.GenerateKey(rand.Reader, 2048))
	keys := graphKeySet(t, map[string]crypto.Signer{
		entra.Issuer("{tenantid}"): prooftest.RSAKey(),
		entra.Issuer(otherTenant):  personal,
	})
	good := graphToken(t, prooftest.RSAKey(), nil)
	second := graphToken(t, prooftest.RSAKey(), jwt.MapClaims{ // version 2
		"ver": "2.0", "appid": nil, "azp": graphPublisher, "tid": otherTenant, "iss": entra.Issuer(otherTenant),
	})
	list := func(tokens ...any) []any { return tokens }
	changed := func(changes jwt.MapClaims) []any { return list(graphToken(t, prooftest.RSAKey(), changes)) }
	for name, test := range map[string]struct {
		request *provider.Request
		tenants []string
		want    provider.Reason // "" if it is accepted
	}{
		"one token":                     {request: richDelivery(list(good), graphTenant)},
		"its tenant in upper case":      {request: richDelivery(list(good), strings.ToUpper(graphTenant))},
		"a token of each tenant":        {request: richDelivery(list(good, second), graphTenant, otherTenant)},
		"a tenant that is known":        {request: richDelivery(list(good), graphTenant), tenants: []string{otherTenant, strings.ToUpper(graphTenant)}},
		"a key of that tenant":          {request: richDelivery(list(graphToken(t, personal, jwt.MapClaims{"tid": otherTenant, "iss": entra.Issuer(otherTenant)})), otherTenant)},
		"an item without a tenant":      {request: richDelivery(list(good), "")},
		"a token nobody needs":          {request: richDelivery(list(good, second), graphTenant)},
		"no token":                      {richDelivery(list(), graphTenant), nil, provider.ReasonMissingToken},
		"null":                          {richDelivery(nil, graphTenant), nil, provider.ReasonMissingToken},
		"no text":                       {richDelivery(list(1), graphTenant), nil, provider.ReasonMalformedToken},
		"no token but a text":           {richDelivery(list("a.b.c"), graphTenant), nil, provider.ReasonMalformedToken},
		"one of two is bad":             {richDelivery(list(good, good[:len(good)-9]+"AAAAAAAAA"), graphTenant), nil, provider.ReasonWrongSignature},
		"no token of a tenant":          {richDelivery(list(good), graphTenant, otherTenant), nil, provider.ReasonWrongClaim},
		"another tenant":                {richDelivery(list(good), graphTenant), []string{otherTenant}, provider.ReasonWrongIssuer},
		"expired":                       {richDelivery(changed(jwt.MapClaims{"exp": prooftest.Now().Add(-2 * time.Minute).Unix()}), graphTenant), nil, provider.ReasonExpired},
		"never expires":                 {richDelivery(changed(jwt.MapClaims{"exp": nil}), graphTenant), nil, provider.ReasonMissingTimestamp},
		"not yet":                       {richDelivery(changed(jwt.MapClaims{"nbf": prooftest.Now().Add(time.Hour).Unix()}), graphTenant), nil, provider.ReasonNotYetValid},
		"for another application":       {richDelivery(changed(jwt.MapClaims{"aud": otherTenant}), graphTenant), nil, provider.ReasonWrongAudience},
		"by another application":        {richDelivery(changed(jwt.MapClaims{"appid": graphApp}), graphTenant), nil, provider.ReasonWrongClaim},
		"by another one of version 2":   {richDelivery(changed(jwt.MapClaims{"azp": graphApp}), graphTenant), nil, provider.ReasonWrongClaim},
		"by nobody":                     {richDelivery(changed(jwt.MapClaims{"appid": nil}), graphTenant), nil, provider.ReasonWrongClaim},
		"by another issuer":             {richDelivery(changed(jwt.MapClaims{"iss": "https://issuer.example.com/"}), graphTenant), nil, provider.ReasonWrongIssuer},
		"issuer of another tenant":      {richDelivery(changed(jwt.MapClaims{"iss": entra.Issuer(otherTenant)}), graphTenant), nil, provider.ReasonWrongIssuer},
		"without a tenant":              {richDelivery(changed(jwt.MapClaims{"tid": nil, "iss": "https://sts.windows.net//"}), graphTenant), nil, provider.ReasonWrongIssuer},
		"a key of another tenant":       {richDelivery(list(graphToken(t, personal, nil)), graphTenant), nil, provider.ReasonUnknownKey},
		"a key that is not Microsoft's": {richDelivery(list(graphToken(t, foreign, nil)), graphTenant), nil, provider.ReasonUnknownKey},
		"too many":                      {richDelivery(slices.Repeat(list(good), maxGraphTokens+1), graphTenant), nil, provider.ReasonTooManyItems},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := declared(t, MicrosoftGraph, provider.Options{AppIDs: []string{otherTenant[:35] + "f", strings.ToUpper(graphApp)}, Tenants: test.tenants, Fetch: keys})
			_, err := p.Verify(t.Context(), test.request, []secret.Value{secret.New(prooftest.Secret)}, prooftest.Now())
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			requireRefusal(t, test.want, err)
		})
	}
}

// A client that does not know the clientState cannot make us fetch keys. If keys cannot be
// fetched, the sender is asked to retry.
func TestGraphFetchesKeysForKnownClientsOnly(t *testing.T) {
	t.Parallel()
	s := prooftest.NewServer(t, prooftest.Status(http.StatusInternalServerError))
	p := declared(t, MicrosoftGraph, provider.Options{AppIDs: []string{graphApp}, Fetch: s.Transport()})
	r := richDelivery([]string{graphToken(t, prooftest.RSAKey(), nil)}, graphTenant)
	_, err := p.Verify(t.Context(), r, []secret.Value{secret.New("another clientState")}, prooftest.Now())
	requireRefusal(t, provider.ReasonWrongToken, err)
	require.Zero(t, s.Requests.Load())

	_, err = p.Verify(t.Context(), r, []secret.Value{secret.New(prooftest.Secret)}, prooftest.Now())
	require.Error(t, err)
	require.NotErrorAs(t, err, new(*provider.VerifyError))
	require.NotZero(t, s.Requests.Load())
}

// Deliveries without resource data have no tokens, and a source without configured
// applications requires none.
func TestGraphAsksForTokensOfResourceDataOnly(t *testing.T) {
	t.Parallel()
	p := declared(t, MicrosoftGraph, provider.Options{AppIDs: []string{graphApp}, Fetch: prooftest.Published{}})
	require.NoError(t, verify(t, p, prooftest.Secret, signed(t, p, prooftest.Secret, "", "")))
	p = declared(t, MicrosoftGraph, provider.Options{Fetch: prooftest.Published{}})
	require.NoError(t, verify(t, p, prooftest.Secret, richDelivery([]string{"a token nobody looks at"}, graphTenant)))
}

func TestGraphOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]provider.Options{
		`app_ids: "hooklatch" is not allowed: must be Microsoft Entra ids, such as 8e460676-ae3f-4b1e-8790-ee0fb5d6148f`: {
			AppIDs: []string{graphApp, "hooklatch"},
		},
		`tenants: "acme.onmicrosoft.com" is not allowed: must be Microsoft Entra ids, such as 8e460676-ae3f-4b1e-8790-ee0fb5d6148f`: {
			AppIDs: []string{graphApp}, Tenants: []string{"acme.onmicrosoft.com"},
		},
		`tenants: "` + graphTenant + `" is not allowed: requires app_ids`: {Tenants: []string{graphTenant}},
	} {
		_, err := MicrosoftGraph(o)
		require.EqualError(t, err, want)
	}
}
