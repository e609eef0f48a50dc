// Package entra verifies JSON Web Tokens of the Microsoft identity platform (Entra) that
// come with a delivery.
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
	// KeysURL is where the keys of all tenants are published.
	KeysURL = "https://" + host + "/common/discovery/v2.0/keys"
)

// Tokens proves tokens that one application of Microsoft makes for our applications.
// Source: learn.microsoft.com/graph/change-notifications-with-resource-data,
// "How to validate"; learn.microsoft.com/entra/identity-platform/access-tokens,
// "Validate the issuer" (of keys, too).
type Tokens struct {
	token     proof.WebToken
	publisher string   // id of the application that makes them
	apps      []string // that they may be made for; none: tokens are not looked at
	tenants   []string // that they may be made in; none: any
}

// New reads the options about tokens.
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

// Wanted reports whether tokens are looked at.
func (e *Tokens) Wanted() bool { return len(e.apps) > 0 }

// TenantOf proves one token and returns the tenant it was made in. Errors: as
// those of Provider.Verify.
func (e *Tokens) TenantOf(ctx context.Context, text string, now time.Time) (string, error) {
	_, claims, _, err := e.token.Read(text)
	if err != nil {
		return "", err
	}
	tenant, _ := claims["tid"].(string) // selects the keys and issuers to try: nothing is proven yet
	token := e.token
	token.Issuers = []string{"https://sts.windows.net/" + tenant + "/", Issuer(tenant)} // of versions 1 and 2
	token.Keys = func(ctx context.Context, id string, now time.Time) ([]proof.PublishedKey, error) {
		keys, err := e.token.Keys(ctx, id, now)
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

// madeBy checks which application made a token. Without that any application of
// the tenant could make one for ours.
func (e *Tokens) madeBy(claims jwt.MapClaims) error {
	said := false
	for _, name := range []string{"appid", "azp"} { // of versions 1 and 2
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

// Issuer is the issuer of tokens of version 2, and how keys name theirs.
func Issuer(tenant string) string {
	return "https://" + host + "/" + tenant + "/v2.0"
}

// signsFor reports whether a key signs tokens of a tenant. Some are for one tenant
// only, such as that of personal accounts; those for all have a placeholder in
// its place.
func signsFor(k proof.PublishedKey, tenant string) bool {
	return k.Issuer == "" || k.Issuer == Issuer("{tenantid}") || k.Issuer == Issuer(tenant)
}
