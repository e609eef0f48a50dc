package prooftest

import "github.com/golang-jwt/jwt/v5"

// Token creates a JSON Web Token that key signs. If id is empty, the token has no key id.
func Token(method jwt.SigningMethod, id string, key any, claims jwt.MapClaims) string {
	token := jwt.NewWithClaims(method, claims)
	if id != "" {
		token.Header["kid"] = id
	}
	return Must(token.SignedString(key))
}
