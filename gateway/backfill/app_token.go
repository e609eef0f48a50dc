package backfill

import (
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// appToken returns the credential of a GitHub App: a JSON Web Token that expires 8 minutes after
// now. Source: docs.github.com, "Generating a JSON Web Token (JWT) for a GitHub App".
func appToken(app, privateKey string, now time.Time) (string, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(privateKey))
	if err != nil {
		return "", errors.New("token is not the private key of an App, as PEM")
	}
	claims := jwt.RegisteredClaims{Issuer: app, IssuedAt: jwt.NewNumericDate(now.Add(-time.Minute)), ExpiresAt: jwt.NewNumericDate(now.Add(8 * time.Minute))}
	return jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(key)
}
