package proof

import "strings"

// Authentication schemes (RFC 9110, 11) as prefixes of the Authorization header's value.
const (
	Bearer = "Bearer "
	Basic  = "Basic "
)

// Challenges for senders that send the secret. Token is for a secret without a registered scheme.
const (
	tokenChallenge  = "Token"
	bearerChallenge = "Bearer"
	basicChallenge  = "Basic"
)

// CutPrefix returns the text after a prefix, and whether the value has the prefix. A prefix that
// ends in a space is an authentication scheme: case and the number of following spaces are ignored
// (RFC 9110, 11.1 and 11.4).
func CutPrefix(value, prefix string) (string, bool) {
	scheme, ok := strings.CutSuffix(prefix, " ")
	if !ok {
		return strings.CutPrefix(value, prefix)
	}
	if len(value) <= len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) || value[len(scheme)] != ' ' {
		return "", false
	}
	return strings.TrimLeft(value[len(scheme):], " "), true
}

// ChallengeOf returns the authentication scheme that a 401 must name if the sender puts a token
// after prefix in the given header.
func ChallengeOf(header, prefix string) string {
	scheme := strings.TrimSuffix(prefix, " ")
	switch {
	case header != Authorization:
	case strings.EqualFold(scheme, bearerChallenge):
		return bearerChallenge
	case strings.EqualFold(scheme, basicChallenge):
		return basicChallenge
	}
	return tokenChallenge
}
