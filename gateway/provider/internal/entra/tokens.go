// Package entra verifies JSON Web Tokens of the Microsoft identity platform (Entra) that a
// delivery carries.
package entra

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

const (
	host = "login.microsoftonline.com"
	// KeysURL is the URL at which Microsoft publishes all tenants' keys.
	KeysURL = "https://" + host + "/common/discovery/v2.0/keys"
)

// Tokens verifies tokens that one Microsoft application obtains for the operator's applications.
// Source: learn.microsoft.com/graph/change-notifications-with-resource-data, "How to validate";
// learn.microsoft.com/entra/identity-platform/access-tokens, "Validate the issuer" (also for the
// issuers that published keys name).
type Tokens struct {
	token     proof.WebToken
	publisher string   // id of the application that obtains the tokens
	apps      []string // allowed audiences; none: tokens are not verified
	tenants   []string // allowed tenants; none: any
}

// New returns Tokens for the options app_ids and tenants, or an *OptionError. publisher is the id
// of the application that obtains the tokens.
func New(o provider.Options, publisher string) (*Tokens, error) {
	e := &Tokens{
		token:     proof.WebToken{Algorithms: []string{"RS256"}, Keys: proof.KeysByURL(proof.NewFetcher(o, host), KeysURL), Leeway: proof.StandardLeeway},
		publisher: publisher,
	}
	var err error
	if e.apps, err = idsOf("app_ids", o.AppIDs); err != nil {
		return nil, err
	}
	if e.tenants, err = idsOf("tenants", o.Tenants); err != nil {
		return nil, err
	}
	if len(e.tenants) > 0 && len(e.apps) == 0 {
		return nil, &provider.OptionError{Field: "tenants", Value: strings.Join(o.Tenants, " "), Allowed: "requires app_ids"}
	}
	return e, nil
}

func idsOf(field string, given []string) ([]string, error) {
	var ids []string
	for _, text := range given {
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, &provider.OptionError{Field: field, Value: text, Allowed: "must be Microsoft Entra ids, such as 8e460676-ae3f-4b1e-8790-ee0fb5d6148f"}
		}
		ids = append(ids, id.String())
	}
	return ids, nil
}

// Wanted reports whether tokens are verified: the option app_ids is set.
func (e *Tokens) Wanted() bool { return len(e.apps) > 0 }

// TenantOf verifies one token and returns the tenant that issued it. Errors: the same as from
// Provider.Verify.
func (e *Tokens) TenantOf(ctx context.Context, text string, now time.Time) (string, error) {
	_, claims, _, err := e.token.Read(text)
	if err != nil {
		return "", err
	}
	tenant, _ := claims["tid"].(string) // selects the keys and issuers to try: nothing is verified yet
	token := e.token
	token.Issuers = []string{"https://sts.windows.net/" + tenant + "/", Issuer(tenant)} // in tokens of versions 1 and 2
	token.Keys = func(ctx context.Context, id string) ([]proof.PublishedKey, error) {
		keys, err := e.token.Keys(ctx, id)
		return slices.DeleteFunc(slices.Clone(keys), func(k proof.PublishedKey) bool { return !signsFor(k, tenant) }), err
	}
	if claims, _, err = token.Proven(ctx, text, nil, now); err != nil {
		return "", err
	}
	switch {
	case tenant == "" || len(e.tenants) > 0 && !slices.Contains(e.tenants, tenant):
		return "", &provider.VerifyError{Reason: provider.ReasonWrongIssuer, Detail: "tid"}
	case !slices.ContainsFunc(e.apps, func(app string) bool { return proof.MadeFor(claims, app) }):
		return "", &provider.VerifyError{Reason: provider.ReasonWrongAudience}
	}
	return tenant, e.madeBy(claims)
}

// madeBy checks which application obtained a token. Without the check, the gateway would accept a
// token that any other application in the tenant obtained.
func (e *Tokens) madeBy(claims jwt.MapClaims) error {
	said := false
	for _, name := range []string{"appid", "azp"} { // claims in versions 1 and 2
		publisher, there := claims[name]
		if there && publisher != e.publisher {
			return &provider.VerifyError{Reason: provider.ReasonWrongClaim, Detail: name}
		}
		said = said || there
	}
	if !said {
		return &provider.VerifyError{Reason: provider.ReasonWrongClaim, Detail: "appid"}
	}
	return nil
}

// Issuer returns the issuer of a tenant's version 2 tokens. Published keys name their issuer in the
// same form.
func Issuer(tenant string) string {
	return "https://" + host + "/" + tenant + "/v2.0"
}

// signsFor reports whether a key signs a tenant's tokens. Some keys are for one tenant only,
// such as the tenant of personal accounts. The issuer of a key for all tenants has a placeholder
// instead of a tenant's id.
func signsFor(k proof.PublishedKey, tenant string) bool {
	return k.Issuer == "" || k.Issuer == Issuer("{tenantid}") || k.Issuer == Issuer(tenant)
}
